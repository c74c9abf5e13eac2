#!/bin/sh
# The Python that Spark starts on this machine, without Spark's own zips of pyspark and py4j: they are installed.
# python.py says why, and sets TIEOUT_WORKER_PYTHON; SPARK_HOME is set by Spark itself.
set -f
kept=
IFS=:
for each in $PYTHONPATH; do
  case $each in
    "$SPARK_HOME"/python/lib/*.zip | "$SPARK_HOME"/jars/*.jar) ;;
    *) kept=${kept:+$kept:}$each ;;
  esac
done
unset IFS
PYTHONPATH=$kept exec "${TIEOUT_WORKER_PYTHON:?is not set}" "$@"
