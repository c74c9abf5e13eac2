"""tieout demo"""


def demo() -> None: ...
