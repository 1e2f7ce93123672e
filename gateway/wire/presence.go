package wire

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/internal/host"
)

// Limits of presence, as in the original.
const (
	presenceTTL = 5 * time.Minute // disconnected entries
	maxPresence = 200
)

// Presence is a client that is or was connected.
type Presence struct {
	Host            string   `json:"host,omitempty"`
	IP              string   `json:"ip,omitempty"`
	Version         string   `json:"version,omitempty"`
	Platform        string   `json:"platform,omitempty"`
	DeviceFamily    string   `json:"deviceFamily,omitempty"`
	ModelIdentifier string   `json:"modelIdentifier,omitempty"`
	Mode            string   `json:"mode,omitempty"`
	Reason          string   `json:"reason,omitempty"` // self, connect, disconnect, or the text of a note
	Text            string   `json:"text"`
	TS              int64    `json:"ts"`
	Roles           []string `json:"roles,omitempty"`
	Scopes          []string `json:"scopes,omitempty"`
	DeviceID        string   `json:"deviceId,omitempty"`
	InstanceID      string   `json:"instanceId,omitempty"`
}

type presenceList struct {
	now  func() time.Time
	self Presence

	mu      sync.Mutex
	there   map[string]*presenceEntry
	version int64 // counts changes
}

type presenceEntry struct {
	Presence
	connections int
}

func newPresenceList(opts *Options) *presenceList {
	self := Presence{Host: opts.Host, Version: cmp.Or(opts.Version, "unknown"), Platform: runtime.GOOS, DeviceFamily: family(runtime.GOOS),
		ModelIdentifier: runtime.GOARCH, Mode: "gateway", Reason: "self"}
	self.Text = self.describe("Gateway")
	return &presenceList{now: opts.Now, self: self, there: map[string]*presenceEntry{}, version: 1}
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

func (p *Presence) describe(what string) string {
	words := what + ": " + p.Host
	if p.IP != "" {
		words += " (" + p.IP + ")"
	}
	return words + " · app " + p.Version + " · mode " + p.Mode + " · reason " + p.Reason
}

// presenceOf is a peer's entry. Command-line clients are not shown: they come and go.
func presenceOf(p *Peer) (key string, entry Presence, shown bool) {
	if p.Client.Mode == "cli" {
		return "", Presence{}, false
	}
	entry = Presence{Host: cmp.Or(p.Client.DisplayName, p.Client.ID), Version: p.Client.Version, Platform: p.Client.Platform,
		DeviceFamily: p.Client.DeviceFamily, ModelIdentifier: p.Client.ModelIdentifier, Mode: p.Client.Mode, Reason: "connect",
		Roles: []string{p.Role}, Scopes: p.Scopes, DeviceID: p.DeviceID, InstanceID: p.Client.InstanceID}
	if !host.IsLoopback(p.IP) {
		entry.IP = p.IP
	}
	return cmp.Or(p.DeviceID, p.Client.InstanceID, p.ConnID), entry, true
}

func (a *presenceList) arrive(p *Peer) {
	key, entry, shown := presenceOf(p)
	if !shown {
		return
	}
	entry.Text, entry.TS = entry.describe("Client"), a.now().UnixMilli()
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.there[key]
	if known == nil {
		known = &presenceEntry{}
		a.there[key] = known
	}
	known.Presence = entry
	known.connections++
	a.version++
}

// depart marks a peer as gone, if it was the last connection of its device. It reports whether anything changed.
func (a *presenceList) depart(p *Peer) bool {
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
	a.countChange()
	return true
}

func (a *presenceList) set(p Presence) {
	p.TS = cmp.Or(p.TS, a.now().UnixMilli())
	key := strings.ToLower(cmp.Or(p.DeviceID, p.InstanceID, p.Host, p.IP, p.Text))
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.there[key]
	if known == nil {
		known = &presenceEntry{}
		a.there[key] = known
	}
	known.Presence = p
	a.countChange()
}

// countChange counts a change and evicts disconnected entries that are too old or too many.
func (a *presenceList) countChange() {
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

func (a *presenceList) counted() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// list returns the entries: the gateway, then newest first.
func (a *presenceList) list() []Presence {
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
