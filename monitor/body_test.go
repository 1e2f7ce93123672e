package monitor_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.has(t, "ws_a")
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{categoryBody, 200, ""},
		{" \r\n\t" + categoryBody + "\n", 200, ""},
		{`{"collabCategory":"infra_ops","unheard":{"of":1}}`, 200, ""},
		{`{"collabCategory":"nonsense","collabCategory":"infra_ops"}`, 200, ""}, {`{"collabCategory":"infra_ops","collabCategory":null}`, 400, "invalid_category"},
		{`{"CollabCategory":"infra_ops"}`, 400, "invalid_category"}, {`{"collabCategory":"infra_ops","COLLABCATEGORY":"nonsense"}`, 200, ""},
		{"", 400, "invalid_body"}, {"null", 400, "invalid_body"}, {"[]", 400, "invalid_body"}, {`"x"`, 400, "invalid_body"}, {"{", 400, "invalid_body"},
		{categoryBody + categoryBody, 400, "invalid_body"}, {categoryBody + "x", 400, "invalid_body"}, {"{'a':1}", 400, "invalid_body"},
		{"{\"collabCategory\":\"infra_ops\",\"updatedBy\":\"\xff\"}", 400, "invalid_body"}, {"\xef\xbb\xbf" + categoryBody, 400, "invalid_body"},
		{`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", 400, "invalid_body"},
		{`{"collabCategory":"infra_ops"` + strings.Repeat(" ", 1<<20) + "}", 413, "too_large"},
	} {
		response := b.from("127.0.0.1:1", http.MethodPatch, categoryPath, c.body)
		var r refusal
		_ = json.Unmarshal(response.Body.Bytes(), &r)
		if response.Code != c.status || r.Code != c.code || r.Code == "invalid_body" && r.Error != "Invalid JSON body" {
			t.Errorf("%.60q: %d %.200s, want %d %s", c.body, response.Code, response.Body, c.status, c.code)
		}
	}
}
