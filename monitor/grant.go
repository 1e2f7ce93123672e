package monitor

import (
	"context"
	"net/http"
	"slices"
)

// Grant is what the surrounding program has found out about a request: who asks, and what they may do. It replaces the
// tokens and the origin rules of the API, which then sets no CORS headers either. Reading is always granted.
type Grant struct {
	Write bool // approve, reject, resend, cancel, change tasks
	Admin bool // SQL, redactions and backups

	// By is recorded as the one who asks, in place of a name in the request; "" if it is not known.
	By string
}

type grantKey struct{}

// WithGrant returns a context for a request that was authenticated before the API answers it.
func WithGrant(ctx context.Context, g Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// GrantOf returns what WithGrant has granted.
func GrantOf(ctx context.Context) (g Grant, granted bool) { return grantOf(ctx) }

func grantOf(ctx context.Context) (g Grant, granted bool) {
	g, granted = ctx.Value(grantKey{}).(Grant)
	return g, granted
}

// adminPaths are the writes that take more than the role of an operator.
var adminPaths = []string{redactionsPath, backupsPath, backupsPath + "/*" + verifyTail, clusterPath + "/step-down", clusterPath + "/promote"}

// checkWrite returns the check of writes to a path.
func (g Grant) checkWrite(path string) func(*http.Request) *problem {
	return func(r *http.Request) *problem {
		switch {
		case slices.Contains(adminPaths, path):
			return g.checkAdmin(r)
		case !g.Write:
			return roleRequired("this session may only read: log in with the gateway's token or the write token", "operate", "admin")
		}
		return checkBody(r)
	}
}

func (g Grant) checkAdmin(r *http.Request) *problem {
	if !g.Admin {
		return roleRequired("show the token of "+AdminTokenVariable+" to have this role for a while", "admin")
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	return checkBody(r)
}

// roleRequired refuses a request for the role of its session.
func roleRequired(hint string, roles ...string) *problem {
	return &problem{Status: http.StatusForbidden, Code: "forbidden", Message: "Forbidden", Field: "role", Hint: hint, Allowed: roles}
}
