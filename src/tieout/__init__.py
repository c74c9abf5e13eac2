"""Tieout: move data between databases on Spark, and prove that it arrived."""
