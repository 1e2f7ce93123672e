package wire

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of who is shown, those of the original.
const (
	presenceTTL = 5 * time.Minute // of who is not connected any more
	maxPresence = 200
)

// Presence is somebody who is or was there.
type Presence struct {
	Host            string   `json:"host,omitempty"`
	IP              string   `json:"ip,omitempty"`
	Version         string   `json:"version,omitempty"`
	Platform        string   `json:"platform,omitempty"`
	DeviceFamily    string   `json:"deviceFamily,omitempty"`
	ModelIdentifier string   `json:"modelIdentifier,omitempty"`
	Mode            string   `json:"mode,omitempty"`
	Reason          string   `json:"reason,omitempty"` // self, connect, disconnect, or what a note says
	Text            string   `json:"text"`
	TS              int64    `json:"ts"`
	Roles           []string `json:"roles,omitempty"`
	Scopes          []string `json:"scopes,omitempty"`
	DeviceID        string   `json:"deviceId,omitempty"`
	InstanceID      string   `json:"instanceId,omitempty"`
}

// attendance is who is there.
type attendance struct {
	now  func() time.Time
	self Presence

	mu      sync.Mutex
	there   map[string]*attendee
	version int64 // counts changes
}

type attendee struct {
	Presence
	connections int
}

func newAttendance(opts *Options) *attendance {
	self := Presence{Host: opts.Host, Version: cmp.Or(opts.Version, "unknown"), Platform: runtime.GOOS, DeviceFamily: family(runtime.GOOS),
		ModelIdentifier: runtime.GOARCH, Mode: "gateway", Reason: "self"}
	self.Text = self.describe("Gateway")
	return &attendance{now: opts.Now, self: self, there: map[string]*attendee{}, version: 1}
}

func family(goos string) string {
	switch goos {
	case "darwin":
		return "Mac"
	case "windows":
		return "Windows"
	case "linux":
		return "Linux"
	}
	return goos
}

// describe words an entry for people.
func (p *Presence) describe(what string) string {
	words := what + ": " + p.Host
	if p.IP != "" {
		words += " (" + p.IP + ")"
	}
	return words + " · app " + p.Version + " · mode " + p.Mode + " · reason " + p.Reason
}

// presenceOf is a peer as others see it. Command lines come and go: they are not shown.
func presenceOf(p *Peer) (key string, entry Presence, shown bool) {
	if p.Client.Mode == "cli" {
		return "", Presence{}, false
	}
	entry = Presence{Host: cmp.Or(p.Client.DisplayName, p.Client.ID), Version: p.Client.Version, Platform: p.Client.Platform,
		DeviceFamily: p.Client.DeviceFamily, ModelIdentifier: p.Client.ModelIdentifier, Mode: p.Client.Mode, Reason: "connect",
		Roles: []string{p.Role}, Scopes: p.Scopes, DeviceID: p.DeviceID, InstanceID: p.Client.InstanceID}
	if !isLoopback(p.IP) {
		entry.IP = p.IP
	}
	return cmp.Or(p.DeviceID, p.Client.InstanceID, p.ConnID), entry, true
}

// arrive shows a peer.
func (a *attendance) arrive(p *Peer) {
	key, entry, shown := presenceOf(p)
	if !shown {
		return
	}
	entry.Text, entry.TS = entry.describe("Client"), a.now().UnixMilli()
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.there[key]
	if known == nil {
		known = &attendee{}
		a.there[key] = known
	}
	known.Presence = entry
	known.connections++
	a.version++
}

// depart shows that a peer has gone, if it was the last one of its device. It reports whether anything has changed.
func (a *attendance) depart(p *Peer) bool {
	key, _, shown := presenceOf(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.there[key]
	if !shown || known == nil {
		return false
	}
	if known.connections--; known.connections > 0 {
		return false
	}
	known.Reason, known.TS = "disconnect", a.now().UnixMilli()
	known.Text = known.describe("Client")
	a.change()
	return true
}

// note shows what somebody says of himself.
func (a *attendance) note(p Presence) {
	p.TS = cmp.Or(p.TS, a.now().UnixMilli())
	key := strings.ToLower(cmp.Or(p.DeviceID, p.InstanceID, p.Host, p.IP, p.Text))
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.there[key]
	if known == nil {
		known = &attendee{}
		a.there[key] = known
	}
	known.Presence = p
	a.change()
}

// change counts a change and forgets who is not connected and has been gone too long, or for whom there is no room.
func (a *attendance) change() {
	a.version++
	gone := a.now().Add(-presenceTTL).UnixMilli()
	var oldest string
	absent := 0
	for key, at := range a.there {
		switch {
		case at.connections > 0:
		case at.TS <= gone:
			delete(a.there, key)
		default:
			if absent++; oldest == "" || at.TS < a.there[oldest].TS {
				oldest = key
			}
		}
	}
	if absent > maxPresence {
		delete(a.there, oldest)
	}
}

// counted is how often it has changed who is there.
func (a *attendance) counted() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// list is who is shown: the gateway, then the newest first.
func (a *attendance) list() []Presence {
	now := a.now()
	gone := now.Add(-presenceTTL).UnixMilli()
	a.mu.Lock()
	shown := make([]Presence, 0, len(a.there)+1)
	for at := range maps.Values(a.there) {
		if at.connections > 0 || at.TS > gone {
			shown = append(shown, at.Presence)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(shown, func(x, y Presence) int {
		return cmp.Or(cmp.Compare(y.TS, x.TS), cmp.Compare(x.Host, y.Host), cmp.Compare(x.InstanceID, y.InstanceID), cmp.Compare(x.Text, y.Text))
	})
	self := a.self
	self.TS = now.UnixMilli()
	return append([]Presence{self}, shown[:min(len(shown), maxPresence-1)]...)
}
