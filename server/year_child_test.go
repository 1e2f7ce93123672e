package server

import (
	"os"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// envLiveAYear is a state directory: a process of this binary in whose environment it is serves it, with bots in the Discord that is at
// envDiscordAPI, and runs no tests. It takes orders as serveByOrders does, so that its memory is that of a server alone.
const envLiveAYear = "OPENCLAWD_TEST_LIVE_A_YEAR"

// liveAYear tells of no event, does not wait for the disk, and keeps few messages of transcripts.
func liveAYear(dir string) (code int) {
	return serveByOrders(Options{StateDir: dir, DiscordAPI: os.Getenv(envDiscordAPI), Durability: sqlite.DurabilityRelaxed}, func(string) bool { return false },
		func(p *Program) { p.limits.transcriptBytes = 1 << 20 })
}
