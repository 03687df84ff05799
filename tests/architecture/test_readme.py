from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("python3 -m venv")
    ]
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()
