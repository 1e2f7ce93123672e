package projections

// SetPace makes the rebuilds of g work in other portions, so that few events make many of them.
func (g *Engine) SetPace(page, live, offline int) {
	g.pace = pace{page: page, live: live, offline: offline, rest: usualPace.rest, small: usualPace.small}
}

// SetSmall makes rebuilds of g drop tables of so few rows at once.
func (g *Engine) SetSmall(rows int) { g.pace.small = rows }

// SetPace makes f read so many events at a time, and write after so many.
func (f *Fold) SetPace(page, turn int) { f.pace.page, f.pace.offline = page, turn }
