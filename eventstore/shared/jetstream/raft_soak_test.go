//go:build soak

package jetstream_test

import (
	"testing"
	"time"
)

// The Raft logs of a stream keep redacted payloads until the broker compacts them, which it does by itself, every two
// minutes. Then no file of any server contains them.
func TestSoakRaftLogsLoseRedactedPayloads(t *testing.T) {
	t.Parallel()
	servers, gone := redactedOnThree(t)
	awaitGone(t, servers, gone, 6*time.Minute, func(string) bool { return true })
}
