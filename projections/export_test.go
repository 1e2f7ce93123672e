package projections

// SetPace makes the rebuilds of g work in other portions, so that few events make many of them.
func (g *Engine) SetPace(page, live, offline int) {
	g.pace = pace{page: page, live: live, offline: offline, rest: usualPace.rest}
}
