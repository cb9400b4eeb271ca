"""Options of Slurm jobs: pairs and tables, and what is refused."""

from pathlib import Path

import pytest

from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.slurm.options import format_pairs, parse_pairs, parse_table
from clarinet_tui.slurm.place import SlurmPlace
from core.errors import InputError


def cores(options: SlurmOptions | None) -> int | None:
    return SlurmPlace(Path()).cores("auto", LaunchOptions(data_dir="", working_directory="", slurm=options))


def test_pairs_are_parsed_and_formatted_back() -> None:
    pairs = ["partition=main", "exclusive", "cpus-per-task=4", "array=%3", "max-requeues=7", "setup=module load cuda"]
    options = parse_pairs(pairs)
    assert options.sbatch == {"partition": "main", "exclusive": "", "cpus-per-task": "4"}
    assert (options.throttle, options.max_requeues, options.setup, cores(options)) == (3, 7, "module load cuda", 4)
    assert list(format_pairs(options)) == pairs
    assert parse_pairs(format_pairs(options)) == options


def test_the_command_line_overrides_the_file() -> None:
    base = parse_table({"partition": "main", "time": 30, "exclusive": True}, "sweep.toml: slurm")
    assert base.sbatch == {"partition": "main", "time": "30", "exclusive": ""}
    assert parse_pairs(["partition=high"], base=base).sbatch["partition"] == "high"


def test_a_run_has_one_core_unless_more_are_requested() -> None:
    assert cores(SlurmOptions()) == cores(None) == 1
    assert cores(parse_pairs(["cpus-per-task=8"])) == 8


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("p=main", "--slurm: p: expected the long name"),
        ("Partition=main", "expected the long name"),
        ("job-name=x", "job-name: cannot be set: jobs are found by their name"),
        ("requeue", "requeue: cannot be set"),
        ("array=0-3", "array: expected %N"),
        ("max-requeues=many", "max-requeues: expected a number"),
        ("comment=a'b", "expected a value without quotes"),
        ("comment=a\nb", "expected one line"),
        ("setup=echo 'x", "setup: No closing quotation"),
    ],
)
def test_wrong_pairs_are_named(pair: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_pairs([pair])


def test_a_table_of_other_values_is_refused() -> None:
    with pytest.raises(InputError, match=r"sweep.toml: slurm: gres: expected a text, a number or true"):
        parse_table({"gres": ["gpu:1"]}, "sweep.toml: slurm")
