package apiclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// redactTime is how long a server may search its log.
const redactTime = 15 * time.Minute

// Redact asks the place's server to blank the payloads selected by an order; a dry run only reports them. The payloads
// are gone when Redact
// returns; Redaction reports when everything derived from them is clean. It returns the errors of change.
func (p *Place) Redact(ctx context.Context, o *redaction.Order, dryRun bool) (answer redactions.Answer, err error) {
	said := struct {
		*redaction.Order
		DryRun bool `json:"dryRun,omitempty"`
	}{o, dryRun}
	err = p.changeWithin(ctx, redactTime, "/api/redactions", said, &answer)
	return answer, err
}

// Redaction asks the server that answered before for the progress of a redaction.
func (p *Place) Redaction(ctx context.Context, id string) (r redactions.Redaction, err error) {
	code, err := p.ask(ctx, p.API, "/api/redactions/"+url.PathEscape(id), &r)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("the server at %s does not know redaction %s", p.API, id)
	}
	return r, err
}
