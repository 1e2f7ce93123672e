package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A client changes the file while the server is killed, again and again. Afterwards the log has each change that was made, in order, and
// no other.
//
// Promise: config-patch
func TestCrashWhileTheConfigurationIsWritten(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, 6), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := gatewayHome(t)
	first := fileHash(t, dir)
	var acknowledged []string
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 0))
		v := startVictim(t, dir)
		acknowledged = append(acknowledged, patchUntilKilled(t, v, fmt.Sprint(round), r)...)
	}

	r := startReloading(t, nil, func(o *Options) { o.StateDir, o.DB = dir, filepath.Join(dir, database.Name) })
	hash := first
	var told []string
	for _, e := range r.patches(t) {
		var p coordination.ConfigPatched
		if err := json.Unmarshal(e.Data, &p); err != nil {
			t.Fatal(err)
		}
		if p.HashBefore != hash {
			t.Errorf("after %.8s the log tells of a change of %.8s", hash, p.HashBefore)
		}
		hash = p.HashAfter
		told = append(told, hash)
	}
	if now := fileHash(t, dir); now != hash {
		t.Errorf("the file is %.8s, the log says %.8s", now, hash)
	}
	for _, a := range acknowledged {
		if !slices.Contains(told, a) {
			t.Errorf("%.8s was acknowledged, and the log does not tell of it", a)
		}
	}
	t.Logf("%d changes, %d of them acknowledged", len(told), len(acknowledged))
}

func fileHash(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(settings.File(dir))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// patchUntilKilled changes the file until the server is killed, and returns the hashes that were acknowledged. Each few changes come from
// another client, or they would be too many.
func patchUntilKilled(t *testing.T, v *victim, round string, r *rand.Rand) (acknowledged []string) {
	t.Helper()
	const perClient = 3
	clients := make([]*client.Client, 4)
	for i := range clients {
		clients[i] = connect(t, v.url)
	}
	kill := sync.OnceFunc(v.kill)
	timer := time.AfterFunc(time.Minute, kill)
	defer timer.Stop()
	enough := r.IntN(perClient * len(clients))
	for i := range perClient * len(clients) {
		if i == enough {
			timer.Reset(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
		}
		c := clients[i/perClient]
		var got configGot
		payload, err := c.Call(t.Context(), "config.get", nil)
		if err == nil {
			err = json.Unmarshal(payload, &got)
		}
		if err != nil {
			break
		}
		raw := fmt.Sprintf(`{round%s: {change%d: %d}}`, round, i, r.Uint32())
		if payload, err = c.Call(t.Context(), "config.patch", map[string]any{"raw": raw, "baseHash": got.Hash}); err != nil {
			break
		}
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, got.Hash)
	}
	kill()
	return acknowledged
}
