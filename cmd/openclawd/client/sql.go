package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// maxSQLBytes bounds an answer of a server in SQL, which bounds its values itself; in JSON a byte may become six.
const maxSQLBytes = 64 << 20

// AdminToken is the token with which the place's server is asked SQL; "" where none is set.
func (p *Place) AdminToken() config.Secret { return settings.AdminToken(p.getenv).Value }

// SQL asks the server of the place. The token is shown to the API that is named, or to a server that is ours. Errors: *NoServerError,
// *RefusedError, also with the code sql_off of a server that answers no SQL, *settings.Error for a token that the server does not take.
func (p *Place) SQL(ctx context.Context, statement string, limit int) (answer monitor.SQLAnswer, err error) {
	question, err := json.Marshal(map[string]any{"sql": statement, "limit": limit})
	if err != nil {
		return answer, fmt.Errorf("ask SQL: %w", err)
	}
	err = p.admin(ctx, http.MethodPost, "/api/sql", question, &answer)
	return answer, err
}

// SQLSchema lists the tables and views of the server of the place. Errors are those of SQL.
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
		return &NoServerError{"the server at " + p.API + " is not known to be ours, and is not shown the token"}
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
		return &settings.Error{Setting: monitor.AdminTokenVariable, Value: p.AdminToken().String(), Err: errors.New("the server does not take this token"),
			Mend: "set it to the token with which the server was started"}
	}
	return refused
}
