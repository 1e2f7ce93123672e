package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

func ui(name string) params {
	return params{"caps": []string{}, "client": params{"id": "gateway-client", "displayName": name, "version": "2", "platform": "linux", "mode": "ui",
		"instanceId": "i-" + name, "deviceFamily": "Linux"}}
}

func entryOf(t *testing.T, entries []wire.Presence, instance string) wire.Presence {
	t.Helper()
	for _, p := range entries {
		if p.InstanceID == instance {
			return p
		}
	}
	return wire.Presence{}
}

// Connected clients are listed; a disconnect is broadcast, once for all that leave together, and listed for five minutes more.
func TestPresence(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.PresenceEvery = 20 * time.Millisecond }})
	g.enter(t, commandLine)
	watcher, first, second := g.enter(t, ui("watcher")), g.enter(t, ui("first")), g.enter(t, ui("first"))
	entries := g.Presence()
	if len(entries) != 3 {
		t.Errorf("the gateway and two instances, and no command line: %+v", entries)
	}
	self := entries[0]
	if self.Reason != "self" || self.Mode != "gateway" || self.Host != "box" || self.Version != "1.2.3" || self.TS != g.clock.now().UnixMilli() ||
		self.Text != "Gateway: box · app 1.2.3 · mode gateway · reason self" {
		t.Errorf("%+v", self)
	}
	p := entryOf(t, entries, "i-first")
	if p.Host != "first" || p.Reason != "connect" || p.Mode != "ui" || p.Version != "2" ||
		p.Platform != "linux" || p.DeviceFamily != "Linux" || p.IP != "" ||
		len(p.Roles) != 1 || len(p.Scopes) != len(all) || p.TS == 0 {
		t.Errorf("%+v", p)
	}
	_ = first.Close()
	g.until(t, "the first one has left", func(s wire.Stats) bool { return s.Peers == 3 })
	if p := entryOf(t, g.Presence(), "i-first"); p.Reason != "connect" {
		t.Errorf("another connection of the same instance is there: %+v", p)
	}
	_ = second.Close()
	f := watcher.event("presence")
	var told struct{ Presence []wire.Presence }
	if err := json.Unmarshal(f.Payload, &told); err != nil || f.Seq == nil || f.State == nil || f.State.Presence == 0 {
		t.Errorf("%+v %v", f, err)
	}
	if p := entryOf(t, told.Presence, "i-first"); p.Reason != "disconnect" {
		t.Errorf("%+v", told)
	}
	g.clock.advance(5 * time.Minute)
	entries = g.Presence()
	if entryOf(t, entries, "i-first").InstanceID != "" || entryOf(t, entries, "i-watcher").InstanceID == "" {
		t.Errorf("after five minutes: %+v", entries)
	}
}

func TestNotesAreShown(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{options: func(o *wire.Options) { o.PresenceEvery = time.Millisecond }})
	c := g.enter(t)
	g.Note(wire.Presence{Text: "hello there"})
	g.Note(wire.Presence{Text: "hello there"})
	f := c.event("presence")
	var told struct{ Presence []map[string]any }
	if err := json.Unmarshal(f.Payload, &told); err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, p := range told.Presence {
		if p["text"] == "hello there" && len(p) == 2 {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes: %s", notes, f.Payload)
	}
}

// However many clients come and go, few are remembered and shown.
func TestPresenceIsBounded(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{})
	for n := range 500 {
		g.clock.advance(time.Millisecond)
		g.Note(wire.Presence{Text: fmt.Sprint(n)})
	}
	entries := g.Presence()
	if len(entries) != 200 || entries[0].Reason != "self" || entries[1].Text != "499" || entries[199].Text != "301" {
		t.Errorf("%d entries, %+v ... %+v", len(entries), entries[:2], entries[len(entries)-1])
	}
}
