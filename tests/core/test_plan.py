"""The length of a run, for the paper's tasks and for other sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.methods import METHODS, find_method
from core.methods.plan import StagePlan, make_plan
from core.resolve import resolve

SIZES = {"M": 60_000, "U": 7291, "S": 73_257, "m": 59_001, "Y": 479_400}


def plan_of(method: str, task: str = "M->U", **more: object) -> tuple[StagePlan, ...]:
    source, target = task.split("->")
    config = resolve(dict(more), method=method, task=task, cores=1)
    return make_plan(config, find_method(method), SIZES[source], SIZES[target])


@pytest.mark.parametrize(
    ("task", "iterations"),
    [("M->U", 468), ("U->M", 468), ("S->M", 572), ("M->m", 468), ("Y->M", 3745), ("Y->S", 3745)],
)
def test_epoch_has_the_whole_batches_of_the_longer_domain(task: str, iterations: int) -> None:
    (stage,) = plan_of("clarinet", task)
    assert stage.iterations_per_epoch == iterations
    assert stage.iterations == 550 * iterations


def test_plan_of_clarinet_in_the_paper() -> None:
    (stage,) = plan_of("clarinet")
    assert (stage.last_epoch, stage.last_iteration) == (550, 257_400)
    assert (stage.warmup_epochs, stage.adaptation_iterations) == (50, 500 * 468)
    assert [stage.adaptation_epoch_of(epoch) for epoch in (1, 50, 51, 550)] == [None, None, 1, 500]
    last_of_warmup = 50 * 468
    assert [stage.adaptation_step_of(last_of_warmup + i) for i in (-1, 0, 1, 2)] == [0, 0, 1, 2]


@pytest.mark.parametrize(("task", "iterations"), [("M->U", 234), ("U->M", 28)])
def test_epoch_of_gac_is_one_pass_over_the_source(task: str, iterations: int) -> None:
    (stage,) = plan_of("gac", task)
    assert (stage.iterations_per_epoch, stage.batch_size) == (iterations, 256)
    assert (stage.last_epoch, stage.last_iteration) == (300, 300 * iterations)
    assert all(stage.adaptation_epoch_of(epoch) is None for epoch in (1, 300))


def test_plan_of_a_two_step_method_in_the_paper() -> None:
    first, second = plan_of("gac+cdan-e", seed=3, stage1={"seed": 1})
    assert (second.last_epoch, second.last_iteration) == (800, 300 * 234 + 500 * 468)
    assert (first.index, second.index) == (1, 2)
    assert (first.seed, second.seed) == (1, 3)
    assert (second.epochs_before, second.iterations_before) == (300, 300 * 234)
    assert (first.epoch_of(first.last_iteration), second.epoch_of(first.last_iteration + 1)) == (300, 301)
    assert second.adaptation_epoch_of(301) == 1
    assert second.adaptation_step_of(first.last_iteration + 1) == 1
    assert second.warmup_epochs == 0


@pytest.mark.parametrize(
    ("method", "sizes", "message"),
    [
        ("clarinet", (100, 500), "batch_size: a batch of 128 is more than the 100 images of the source"),
        ("clarinet", (500, 100), "batch_size: a batch of 128 is more than the 100 images of the target"),
        ("gac", (255, 1), "stage1.batch_size: a batch of 256 is more than the 255 images of the source"),
        ("gac+dan", (300, 100), "batch_size: a batch of 128 is more than the 100 images of the target"),
    ],
)
def test_batch_larger_than_a_domain_is_refused(method: str, sizes: tuple[int, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(resolve(method=method, cores=1), find_method(method), *sizes)
    assert str(caught.value) == message


def test_stage_without_adaptation_ignores_the_target() -> None:
    (gac,) = make_plan(resolve(method="gac", cores=1), find_method("gac"), 256, 0)
    assert gac.iterations == 300
    (stage,) = plan_of("source-only", "U->M")
    assert stage.iterations_per_epoch == 7291 // 128


@st.composite
def plans(draw: st.DrawFn) -> tuple[StagePlan, ...]:
    method = draw(st.sampled_from(list(METHODS)))
    small = st.integers(1, 6)
    config = resolve(
        method=method,
        cores=1,
        epochs=draw(small),
        warmup_epochs=draw(st.integers(0, 5)),
        batch_size=draw(st.integers(2, 9)),
        epoch_iterations=draw(st.integers(0, 3)),
        stage1={"epochs": draw(small), "batch_size": draw(small)},
    )
    return make_plan(config, find_method(method), draw(st.integers(9, 40)), draw(st.integers(9, 40)))


@given(plans())
def test_plan_agrees_with_counting_iterations(plan: tuple[StagePlan, ...]) -> None:
    iteration = epoch = 0
    for stage in plan:
        assert (stage.epochs_before, stage.iterations_before) == (epoch, iteration)
        step = 0
        for number in range(1, stage.epochs + 1):
            epoch += 1
            adapting = number > stage.warmup_epochs
            counts = adapting and not stage.spec.stage1
            assert stage.adaptation_epoch_of(epoch) == (number - stage.warmup_epochs if counts else None)
            for _ in range(stage.iterations_per_epoch):
                iteration += 1
                step += adapting and stage.spec.adapts
                assert stage.epoch_of(iteration) == epoch
                assert stage.adaptation_step_of(iteration) == step
        assert stage.last_iteration == iteration
        assert stage.adaptation_iterations == step or not stage.spec.adapts
    assert (plan[-1].last_epoch, plan[-1].last_iteration) == (epoch, iteration)


def test_configured_iterations_replace_a_pass_over_the_larger_domain() -> None:
    plan = make_plan(resolve(method="gac+cdan-e", epoch_iterations=30, cores=1), find_method("gac+cdan-e"), 1000, 5000)
    assert [stage.iterations_per_epoch for stage in plan] == [30, 30]
