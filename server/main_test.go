package server

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/mcp/samplemcp"
	"github.com/pronto-lab/openclawd/sandbox"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	samplemcp.Main()
	sandbox.Main()
	if dir, ok := os.LookupEnv(envServeUntilKilled); ok {
		os.Exit(serveUntilKilled(dir))
	}
	if dir, ok := os.LookupEnv(envKeepGoing); ok {
		os.Exit(keepGoingUntilKilled(dir))
	}
	if dir, ok := os.LookupEnv(envSpeakInDiscord); ok {
		os.Exit(speakInDiscordUntilKilled(dir))
	}
	if dir, ok := os.LookupEnv(envLiveAYear); ok {
		os.Exit(liveAYear(dir))
	}
	goleak.VerifyTestMain(m)
}
