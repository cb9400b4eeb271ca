"""The chart engine: numpy arrays to terminal cells, without Textual.

`render.draw(Plan(...))` returns the picture. The widget `clarinet_tui.ui.widgets.chart` and `clarinet plot` use it.
"""
