//go:build !race

// This asks for hundreds of answers again and again, one after the other: the race detector finds nothing here that the test of a program
// that follows does not show, and takes three minutes.

package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A team works at a task, its configuration changes and the program is restarted. Everything that could be asked then is answered as of
// then.
func TestAsOfInAProgramThatProduces(t *testing.T) {
	t.Parallel()
	w := &heldClock{}
	s := newStory(t, onClock(w))
	var recorded []*monitortest.Recording
	record := func() {
		t.Helper()
		recorded = append(recorded, w.record(t, s.Program, s.url, "tiles", "ruda", "repair the house"))
	}
	s.begins(t)
	record()
	s.moneyIsThere(t)
	record()
	text, err := os.ReadFile(filepath.Join(s.opts.StateDir, settings.FileName))
	if err != nil {
		t.Fatal(err)
	}
	lonely := strings.Replace(strings.Replace(string(text), "agentToAgent: { enabled: true }", "agentToAgent: { enabled: false }", 1), `{ id: "dajim",`,
		`{ id: "miri" }, { id: "dajim", workspace: "~/elsewhere",`, 1)
	_ = s.client.Close()
	s.restart(t, map[string]string{settings.FileName: lonely})
	record()
	s.advance(t, time.Hour)
	record()
	for i := len(recorded) - 1; i >= 0; i-- {
		if recorded[i].Found() < 50 {
			t.Errorf("only %d answers hold something as of %d", recorded[i].Found(), recorded[i].Seq)
		}
		recorded[i].Check(t, asking(t, s.url))
	}
	seq := recorded[0].Seq
	_, _, before := monitortest.AsOf(t, asking(t, s.url), "/api/a2a/policy?from=eden&to=seum", seq)
	_, _, after := asking(t, s.url)("/api/a2a/policy?from=eden&to=seum")
	if bytes.Equal(before, after) {
		t.Errorf("the configuration has changed, and the policy has not: %s", after)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(asof.Dir(s.opts.DB)); !os.IsNotExist(err) {
		t.Errorf("when the program has ended, its past is still there: %v", err)
	}
}
