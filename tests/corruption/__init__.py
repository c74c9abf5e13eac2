"""Real corruption: each function takes a scratch database and leaves it wrong in one way, which its docstring states.

One package for each engine, with the same names where the engines can be wrong in the same way. `where` is a
condition in the engine's SQL; `values` are columns with what they shall hold.
"""
