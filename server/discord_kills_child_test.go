package server

import (
	"os"
	"testing"
	"time"
)

// envSpeakInDiscord is a state directory: a process of this binary in whose environment it is serves it, with bots in the Discord that is at
// envDiscordAPI, and runs no tests. It takes orders as serveByOrders does.
const (
	envSpeakInDiscord = "OPENCLAWD_TEST_SPEAK_IN_DISCORD"
	envDiscordAPI     = "OPENCLAWD_TEST_DISCORD_API"
)

// speakInDiscordUntilKilled tells of every event.
func speakInDiscordUntilKilled(dir string) (code int) {
	return serveByOrders(Options{StateDir: dir, DiscordAPI: os.Getenv(envDiscordAPI)}, func(string) bool { return true })
}

// startSpeaking begins such a process, whose clock is that far ahead. said is called for each event.
func startSpeaking(t *testing.T, dir, api string, ahead time.Duration, said func(s *goingServer, typ string)) *goingServer {
	t.Helper()
	return startByOrders(t, ahead, said, envSpeakInDiscord+"="+dir, envDiscordAPI+"="+api)
}
