"""The chart engine: numpy arrays to terminal cells, without Textual or a console.

`render.render_chart(ChartSpec(...))` returns the grid. The widget `ui.widgets.chart` and `clarinet plot` use it.
"""
