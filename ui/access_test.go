package ui

import (
	"crypto/sha256"
	"strconv"
	"testing"
	"time"
)

// A cookie gives only the role that its secret still gives, for the log it was made for.
func TestCookiesKeepToTheirSecret(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	viewer := Secret{Source: "viewer", Role: Read, Digest: sha256.Sum256([]byte("v"))}
	admin := Secret{Source: "admin", Role: Operate, Admin: true, Digest: sha256.Sum256([]byte("a"))}
	access := Access{Secrets: []Secret{viewer, admin}, Key: []byte("key")}
	for _, c := range []struct {
		secret Secret
		role   Role
		ok     bool
	}{
		{viewer, None, false}, {viewer, Read, true}, {viewer, Operate, false}, {viewer, Admin, false},
		{admin, None, false}, {admin, Read, false}, {admin, Operate, true}, {admin, Admin, true},
	} {
		text := access.sign(claim{c.role, c.secret.Source, now.Add(time.Second), "n"}, &c.secret, "log")
		if got, _, ok := access.verify(text, "log", now); ok != c.ok || ok && got.role != c.role {
			t.Errorf("%s as %s: %v %v", c.secret.Source, c.role, ok, got.role)
		}
		if !c.ok {
			continue
		}
		other := sha256.Sum256([]byte("other"))
		for what, changed := range map[string]Access{
			"another key":    {Secrets: access.Secrets, Key: []byte("kez")},
			"no key":         {Secrets: access.Secrets},
			"another secret": {Secrets: []Secret{{Source: c.secret.Source, Role: c.secret.Role, Admin: c.secret.Admin, Digest: other}}, Key: access.Key},
			"no secret":      {Key: access.Key},
			"another role":   {Secrets: []Secret{{Source: c.secret.Source, Role: None, Digest: c.secret.Digest}}, Key: access.Key},
		} {
			if _, _, ok := changed.verify(text, "log", now); ok {
				t.Errorf("%s as %s: works with %s", c.secret.Source, c.role, what)
			}
		}
		if _, _, ok := access.verify(text, "lof", now); ok {
			t.Errorf("%s as %s: works for another log", c.secret.Source, c.role)
		}
		if _, _, ok := access.verify(text, "log", now.Add(time.Second)); ok {
			t.Errorf("%s as %s: works for ever", c.secret.Source, c.role)
		}
	}
}

// Of the sessions of one secret that were logged out, those that expire last are kept, and others' are not touched.
func TestEndedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	e := ended{nonces: map[string]map[string]time.Time{}}
	other := claim{source: "b", nonce: "x", expires: now.Add(time.Second)}
	e.add(other, now)
	claims := make([]claim, maxEnded+1)
	for n := range claims {
		claims[n] = claim{source: "a", nonce: strconv.Itoa(n), expires: now.Add(time.Duration(n+1) * time.Minute)}
		e.add(claims[n], now)
	}
	if e.has(claims[0]) || !e.has(claims[1]) || !e.has(claims[maxEnded]) || !e.has(other) || len(e.nonces["a"]) != maxEnded {
		t.Errorf("%d are kept", len(e.nonces["a"]))
	}
	now = claims[maxEnded].expires
	last := claim{source: "c", nonce: "x", expires: now.Add(time.Second)}
	if e.add(last, now); len(e.nonces) != 1 || !e.has(last) {
		t.Errorf("expired ones are kept: %d", len(e.nonces))
	}
}

// Codes work once, the newest of too many are kept, and those that have expired are forgotten.
func TestCodesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	c := codes{now: func() time.Time { return now }, most: 3}
	first, second := c.make(), c.make()
	c.make()
	last := c.make()
	if c.use(first) || !c.use(second) || c.use(second) || len(c.open) != 2 {
		t.Errorf("%d are kept", len(c.open))
	}
	now = now.Add(CodeTime)
	if c.use(last) || len(c.open) != 0 {
		t.Errorf("%d are kept for ever", len(c.open))
	}
}
