package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// maxSQLBytes limits an SQL answer of a server, which limits its values itself; JSON may expand a byte to six.
const maxSQLBytes = 64 << 20

// AdminToken is the token for SQL requests to the place's server; "" if unset.
func (p *Place) AdminToken() config.Secret { return settings.AdminToken(p.getenv).Value }

// SQL asks the place's server. The token is sent only to the API that was named explicitly, or to a server that is
// known to be ours. Errors: *NoServerError, *RefusedError (code sql_off if the server does not answer SQL),
// *config.SettingError for a token that the server does not accept.
func (p *Place) SQL(ctx context.Context, statement string, limit int) (answer monitor.SQLAnswer, err error) {
	question, err := json.Marshal(map[string]any{"sql": statement, "limit": limit})
	if err != nil {
		return answer, fmt.Errorf("ask SQL: %w", err)
	}
	err = p.admin(ctx, http.MethodPost, "/api/sql", question, &answer)
	return answer, err
}

// SQLSchema lists the tables and views of the place's server. It returns the errors of SQL.
func (p *Place) SQLSchema(ctx context.Context) ([]monitor.SQLTable, error) {
	var answer struct{ Tables []monitor.SQLTable }
	err := p.admin(ctx, http.MethodGet, "/api/sql/schema", nil, &answer)
	return answer.Tables, err
}

func (p *Place) admin(ctx context.Context, method, path string, body []byte, into any) error {
	status, why := p.Status(ctx)
	if status == nil {
		return &NoServerError{why}
	}
	if !p.apiNamed && !p.believes(status) {
		return &NoServerError{"the server at " + p.API + " is not known to be yours, so the token is not sent"}
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+reachableAt(p.API)+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.API, err)
	}
	request.Header.Set("Authorization", "Bearer "+p.AdminToken().Reveal())
	request.Header.Set("Content-Type", "application/json")
	refused, code, err := p.send(request, maxSQLBytes, into)
	switch {
	case err != nil:
		return err
	case refused == nil:
		return nil
	case code == http.StatusUnauthorized:
		return &config.SettingError{Setting: monitor.AdminTokenVariable, Value: p.AdminToken().String(), Err: errors.New("the server does not accept this token"),
			HintText: "use the token with which the server was started"}
	}
	return refused
}
