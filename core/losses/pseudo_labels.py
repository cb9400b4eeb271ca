"""Learning from a teacher's predictions: confident pseudo-labels, class balance, and classes that are not ruled out."""

from torch import Tensor
from torch.nn import functional


def confident_cross_entropy(logits: Tensor, predictions: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy with the likeliest class of confident predictions (FixMatch, Sohn et al. 2020), and their share.

    `predictions` are probabilities (B, K). Rows whose largest is not above `threshold` add 0 to the mean over all B.
    """
    confidence, labels = predictions.max(dim=1)
    is_confident = (confidence > threshold).to(logits.dtype)
    losses = functional.cross_entropy(logits, labels, reduction="none")
    return (losses * is_confident).mean(), is_confident.mean()


def balance(predictions: Tensor, mean_prediction: Tensor) -> Tensor:
    """Distribution alignment (ReMixMatch, Berthelot et al. 2020) to equally frequent classes.

    Each row of probabilities is divided by the running mean of all predictions, and normalised again.
    """
    scaled = predictions / mean_prediction
    return scaled / scaled.sum(dim=1, keepdim=True)


def likeliest_allowed(predictions: Tensor, weights: Tensor) -> Tensor:
    """Return the likeliest class of each row of probabilities that no complementary label rules out.

    `weights` (B, K) is positive at complementary labels.
    """
    return predictions.masked_fill(weights > 0, -1).argmax(dim=1)
