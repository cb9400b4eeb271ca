"""The paper's results (IJCAI 2020): target accuracy in percent at the last epoch, over five seeds."""

from statistics import fmean

from clarinet_tui.analysis.statistics import Summary
from core.errors import InputError
from core.methods import find_method
from core.tasks import PAPER_TASKS

SEEDS = 5
MAIN_METHODS = ("gac", "gac+dan", "gac+dann", "gac+cdan-e", "clarinet")
"""The columns of the paper's first table, in its order."""
ABLATIONS = ("clarinet-ce", "clarinet-no-t")
ABLATION_METHODS = (*ABLATIONS, "clarinet")
"""The paper's second table, in its order."""
CONTROLS = {"basset": ("fwd+basset", "fwd+basset-kept")}
"""The two-step controls of the project's own method, which the paper does not have."""
PUBLISHED_CAUTION = (
    "The paper gives GAC without ±: probably all two-step runs of a task share the pseudo-labels of one GAC model, "
    "so the published ± of two-step methods probably excludes the variance of stage 1."
)
_NUMBERS = {
    "gac": "51.860 77.796 39.260 45.045 77.070 72.480",
    "gac+dan": "60.692±1.300 87.215±0.603 45.132±1.363 43.346±2.224 81.150±0.591 78.270±0.311",
    "gac+dann": "77.580±0.770 88.688±1.280 50.882±2.440 62.273±2.261 92.328±0.138 75.147±1.401",
    "gac+cdan-e": "71.498±1.077 92.366±0.365 61.922±2.983 71.379±0.620 95.532±0.873 82.878±0.278",
    "clarinet": "83.692±0.928 94.538±0.292 63.070±1.990 71.717±1.262 97.040±0.212 84.499±0.537",
    "clarinet-ce": "0.445±0.722 0.055±0.129 3.708±0.688 7.088±0.424 1.832±0.102 1.298±0.070",
    "clarinet-no-t": "83.192±1.796 93.419±0.588 52.438±1.927 72.128±1.569 95.442±1.004 83.055±0.652",
}
"""In the order of `PAPER_TASKS`."""
LATEX_TITLES = {
    "clarinet-ce": r"C w/ $L_{\mathrm{CE}}$",
    "clarinet-no-t": r"C w/o $T$",
    "gac+cdan-e": r"GAC+CDAN\_E",
    "cdan-e": r"CDAN\_E",
}
"""Method titles with LaTeX markup."""


PUBLISHED = {
    (method, task): Summary(SEEDS, float(mean), float(std) if std else None)
    for method, line in _NUMBERS.items()
    for task, (mean, _, std) in zip(PAPER_TASKS, (text.partition("±") for text in line.split()), strict=True)
}
"""The results by method and task, without std where the paper prints none.

The paper does not state whether its ± divides by n - 1, as that of a `Summary` does.
"""


def method_title(method: str) -> str:
    """The method as the paper writes it, such as GAC+CDAN_E."""
    try:
        return find_method(method).title
    except InputError:  # a plug-in that is not installed
        return method


def published_average(method: str) -> float | None:
    """Return the published average over all tasks, before rounding."""
    means = [result.mean for (name, _), result in PUBLISHED.items() if name == method and result.mean is not None]
    return fmean(means) if means else None
