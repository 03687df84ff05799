"""Evaluate a day once it is over: an Airflow DAG (3.x, with apache-airflow-providers-standard).

`data_interval_start` is the day only where the timetable has data intervals: in Airflow 3 a plain schedule="@daily"
has none, and the day would be the one of the run. Tasks may run again at any time: an interval that is there, of the
same files and suite, is not evaluated again, and a failed night never becomes its own reference.
"""

import os
from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

SUITE_FOLDER = os.environ.get("PLMETRICS_SUITES", "/srv/nightly")
RUN = "plmetrics run nightly.yaml --quiet --interval {{ data_interval_start | ds }}"

with DAG(
    dag_id="plmetrics_nightly",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 3, 1, tzinfo=UTC),
    catchup=True,
    max_active_runs=1,  # days in their order: each is compared with those before it
) as dag:
    # 5 (no data yet) and 6 (the environment) are tried again; the last try skips a day without data (99).
    # A failed gate (3) is no failure here: it is written, and judged by the next task.
    evaluate = BashOperator(
        task_id="evaluate",
        cwd=SUITE_FOLDER,
        append_env=True,
        bash_command=RUN + "{{ ' --skip-if-empty' if ti.try_number > ti.max_tries else '' }}; code=$?; "
        "[ $code -eq 3 ] || exit $code",
        skip_on_exit_code=99,
        retries=8,
        retry_delay=timedelta(minutes=30),
    )
    # The result is there: this shows it, and fails at once where a gate failed. Releases go after it.
    gates = BashOperator(task_id="gates", cwd=SUITE_FOLDER, append_env=True, bash_command=RUN, retries=0)
    evaluate >> gates
