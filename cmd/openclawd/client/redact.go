package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// Redacted is what a server says of an order to forget.
type Redacted struct {
	OK     bool `json:"ok"`
	DryRun bool `json:"dryRun"`
	*monitor.RedactionPlan
	Count     int                `json:"count"` // of matches, also of those that are not listed
	Redaction *monitor.Redaction `json:"redaction,omitempty"`
}

// redactTime is how long a server may look through its log.
const redactTime = 15 * time.Minute

// Redact has the server of the place blank what an order means; a dry run only says what that is. The payloads are gone when Redact returns; Redaction
// tells when everything that was made of them has forgotten them. Errors are those of change.
func (p *Place) Redact(ctx context.Context, o *monitor.RedactionOrder, dryRun bool) (answer Redacted, err error) {
	said := struct {
		*monitor.RedactionOrder
		DryRun bool `json:"dryRun,omitempty"`
	}{o, dryRun}
	err = p.changeWithin(ctx, redactTime, "/api/redactions", said, &answer)
	return answer, err
}

// Redaction asks the server that has answered before how far a redaction is.
func (p *Place) Redaction(ctx context.Context, id string) (r monitor.Redaction, err error) {
	code, err := ask(ctx, p.API, "/api/redactions/"+url.PathEscape(id), &r)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("the server at %s does not know redaction %s", p.API, id)
	}
	return r, err
}
