package config

import (
	"fmt"
	"net/url"
	"regexp"
	"time"
	"unicode/utf8"
)

// Limits of a cluster's settings.
const (
	usualLease      = 5 // seconds
	shortestLease   = 1
	longestLease    = 300
	minClusterToken = 16 // characters: nothing that can be guessed
)

// nodeNames are those of nodes: they are shown, and are in headers.
var nodeNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (c *Config) decodeCluster(f *fields) {
	if f.object != nil {
		f.needs("log", "token")
	}
	k := &c.Cluster
	k.Log = f.sharedLog("log")
	if k.Node = f.text("node", ""); k.Node != "" && !IsNodeName(k.Node) {
		f.invalid(f.object.get("node"), f.at.member("node"), "is no name of a node", "use 1 to 63 letters, digits, . - and _")
		k.Node = ""
	}
	at := f.within("advertise")
	k.Advertise = Advertise{Gateway: at.nodeAddress("gateway", "ws"), API: at.nodeAddress("api", "http")}
	at.done()
	k.Reader = f.choice("role", "auto", "reader") == "reader"
	k.Lease = time.Duration(f.count("leaseSeconds", usualLease, shortestLease, longestLease)) * time.Second
	k.Durability = f.choice("durability", ClusterStrict, ClusterRelaxed)
	if k.Token = f.ownSecret("token"); k.Token != "" && utf8.RuneCountInString(k.Token.Reveal()) < minClusterToken {
		f.invalid(f.object.get("token"), f.at.member("token"), fmt.Sprintf("is shorter than %d characters", minClusterToken), "make one with openssl rand -hex 16, the same for all nodes")
		k.Token = ""
	}
	if !k.On() {
		*k = Cluster{}
	}
	f.done()
}

// IsNodeName reports whether a node may have a name.
func IsNodeName(name string) bool { return nodeNames.MatchString(name) }

// sharedLog reads the URL of a shared log, which may contain credentials. What opens it checks the rest.
func (f *fields) sharedLog(key string) Secret {
	s := f.ownSecret(key)
	if s == "" || sharedLogs.MatchString(s.Reveal()) {
		return s
	}
	v := f.object.get(key)
	v.secret = true
	f.invalid(v, f.at.member(key), "is not the URL of a shared log", "write nats://HOST:4222/STREAM or postgres://USER@HOST/DATABASE")
	return ""
}

var sharedLogs = regexp.MustCompile(`^(nats|tls|postgres|postgresql)://.`)

// nodeAddress reads where other nodes reach this one: a scheme, also in its encrypted form, host and port.
func (f *fields) nodeAddress(key, scheme string) string {
	s := f.text(key, "")
	u, err := url.Parse(s)
	if s == "" || err == nil && (u.Scheme == scheme || u.Scheme == scheme+"s") && u.Host != "" && u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" {
		return s
	}
	f.invalid(f.object.get(key), f.at.member(key), "is not the address of a node", "write it like "+scheme+"://node-a:3847")
	return ""
}
