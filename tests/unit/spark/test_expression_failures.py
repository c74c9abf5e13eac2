"""What Spark says of an expression that fails for a row: what the mover makes of it, and what it leaves out."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tieout.errors import SparkFailure
from tieout.model.redaction import values_hidden
from tieout.model.tables import TableName
from tieout.spark.errors import ExpressionFailure, complaint
from tieout.spark.executor_work import job_errors

ZERO = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012\n'
    "== SQL (line 1, position 1) ==\n10/v"
)


class FromSpark(PySparkException):
    """An error as Spark's Java hands it over."""

    def __init__(self, text: str, condition: str | None, state: str | None) -> None:
        super().__init__(text)
        self.text, self.condition, self.state = text, condition, state

    def getCondition(self) -> str | None:
        return self.condition

    def getSqlState(self) -> str | None:
        return self.state

    def __str__(self) -> str:
        return self.text


def failure_of(error: Exception) -> SparkFailure:
    with pytest.raises(SparkFailure) as found, job_errors():
        raise error
    return found.value


def test_the_reason_names_the_table_and_does_not_advise_to_turn_ansi_mode_off() -> None:
    failure = failure_of(FromSpark(ZERO, "DIVIDE_BY_ZERO", "22012"))
    assert isinstance(failure, ExpressionFailure)
    assert str(failure.of_table(TableName("s", "b"))) == (
        "s.b: its filter or a computed column failed: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate "
        "divisor being 0 and return NULL instead. SQLSTATE: 22012 (correct the row, or an expression that should allow "
        "for it)"
    )


def test_no_complaint_advises_to_turn_ansi_mode_off() -> None:
    told = 'cannot cast "DATE" to "INT".'
    text = f"[DATATYPE_MISMATCH.CAST] {told} If you have to, you can set \"spark.sql.ansi.enabled\" as 'false'."
    assert complaint(FromSpark(text, "DATATYPE_MISMATCH.CAST", "42K09")) == told


def test_hidden_values_are_not_in_the_reason() -> None:
    said = '[CAST_INVALID_INPUT] The value \'secret\' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018'
    with pytest.raises(SparkFailure) as found, values_hidden(True), job_errors():
        raise FromSpark(said, "CAST_INVALID_INPUT", "22018")
    assert isinstance(found.value, ExpressionFailure)
    assert found.value.message == "a Spark job failed: [CAST_INVALID_INPUT] (the message is redacted)"


@pytest.mark.parametrize(
    ("text", "condition", "state"),
    [
        ("Job aborted due to stage failure: ExecutorLostFailure", None, None),
        ("[PYTHON_EXCEPTION] Python worker exited unexpectedly (crashed)", "PYTHON_EXCEPTION", "38000"),
        ("[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 9 bytes", "UNABLE_TO_ACQUIRE_MEMORY", "53200"),
        ("[SPARK_JOB_CANCELLED] Job 1 cancelled", "SPARK_JOB_CANCELLED", "XXKDA"),
    ],
)
def test_lost_processes_are_no_expressions(text: str, condition: str | None, state: str | None) -> None:
    assert type(failure_of(FromSpark(text, condition, state))) is SparkFailure
