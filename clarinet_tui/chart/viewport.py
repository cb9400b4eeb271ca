"""The x range that a chart shows: everything, a window, or a window that follows the latest point."""

from dataclasses import dataclass

Extent = tuple[float, float]
MINIMUM_SHARE = 1e-6
"""Smallest window as a share of everything."""


@dataclass(frozen=True)
class Viewport:
    """An immutable view; without start and stop it shows everything, including points that are added later."""

    start: float | None = None
    stop: float | None = None
    follow: bool = False

    @property
    def shows_all(self) -> bool:
        return self.start is None or self.stop is None

    def window(self, extent: Extent) -> Extent:
        if self.start is None or self.stop is None:
            return extent
        if self.follow:
            return extent[1] - (self.stop - self.start), extent[1]
        return self.start, self.stop

    def zoom(self, factor: float, around: float | None, extent: Extent) -> "Viewport":
        """Scale the window around a fixed x, by default its end when following, else its middle."""
        start, stop = self.window(extent)
        total = extent[1] - extent[0]
        span = max((stop - start) * factor, total * MINIMUM_SHARE)
        if span >= total * (1 - 1e-9):
            return Viewport()
        centre = around if around is not None else (stop if self.follow else (start + stop) / 2)
        share = (centre - start) / (stop - start)
        return self._inside(centre - share * span, span, extent)

    def pan(self, share: float, extent: Extent) -> "Viewport":
        """Move the window by a share of its width; moving back stops following."""
        if self.shows_all:
            return self
        start, stop = self.window(extent)
        moved = Viewport(start, stop)._inside(start + share * (stop - start), stop - start, extent)
        return Viewport(moved.start, moved.stop, follow=self.follow and share > 0)

    def toggle_follow(self, extent: Extent) -> "Viewport":
        """Start following the latest point, with the last quarter if everything is shown, or stop following."""
        start, stop = self.window(extent)
        if self.follow:
            return Viewport(start, stop)
        span = (stop - start) / 4 if self.shows_all else stop - start
        return Viewport(extent[1] - span, extent[1], follow=True)

    def _inside(self, start: float, span: float, extent: Extent) -> "Viewport":
        start = min(max(start, extent[0]), extent[1] - span)
        return Viewport(start, start + span, follow=self.follow)
