"""Which part of x a chart shows: everything, a window, or a window that follows the newest point."""

from dataclasses import dataclass

Extent = tuple[float, float]
NARROWEST = 1e-6
"""The smallest window, as a share of everything."""


@dataclass(frozen=True)
class View:
    """Immutable; every movement makes a new one. Without start and stop: everything, also what is still to come."""

    start: float | None = None
    stop: float | None = None
    follow: bool = False

    @property
    def whole(self) -> bool:
        return self.start is None or self.stop is None

    def window(self, extent: Extent) -> Extent:
        if self.start is None or self.stop is None:
            return extent
        if self.follow:
            return extent[1] - (self.stop - self.start), extent[1]
        return self.start, self.stop

    def zoomed(self, factor: float, around: float | None, extent: Extent) -> "View":
        """A window `factor` times as wide; `around` stays put (by default the end when following, else the middle)."""
        start, stop = self.window(extent)
        total = extent[1] - extent[0]
        span = max((stop - start) * factor, total * NARROWEST)
        if span >= total * (1 - 1e-9):
            return View()
        centre = around if around is not None else (stop if self.follow else (start + stop) / 2)
        share = (centre - start) / (stop - start)
        return self._inside(centre - share * span, span, extent)

    def panned(self, share: float, extent: Extent) -> "View":
        """The window moved by a share of its width; going back in time ends following."""
        if self.whole:
            return self
        start, stop = self.window(extent)
        moved = View(start, stop)._inside(start + share * (stop - start), stop - start, extent)
        return View(moved.start, moved.stop, follow=self.follow and share > 0)

    def following(self, extent: Extent) -> "View":
        """Follow the newest point, or stay where it is if it followed; from everything, the newest quarter."""
        start, stop = self.window(extent)
        if self.follow:
            return View(start, stop)
        span = (stop - start) / 4 if self.whole else stop - start
        return View(extent[1] - span, extent[1], follow=True)

    def _inside(self, start: float, span: float, extent: Extent) -> "View":
        start = min(max(start, extent[0]), extent[1] - span)
        return View(start, start + span, follow=self.follow)
