package telegramtest

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const maxBody = 64 << 20

// call is a request to a method, with its parameters from the query, a form or a JSON object.
type call struct {
	r      *http.Request
	by     *account
	method string
	params map[string]string // objects as JSON
	files  map[string]upload
}

type upload struct {
	name, kind string
	content    []byte
}

func (c *call) text(name string) string { return c.params[name] }

func (c *call) has(name string) bool { return c.params[name] != "" }

// number returns an integer parameter, 0 if it is missing or not one.
func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(c.params[name]), 10, 64)
	return n
}

func (c *call) flag(name string) bool {
	v := strings.ToLower(strings.TrimSpace(c.params[name]))
	return v == "true" || v == "1" || v == "yes"
}

// object parses a parameter that is an object in JSON; a missing one leaves v as it is.
func (c *call) object(name string, v any) *Error {
	if !c.has(name) {
		return nil
	}
	if json.Unmarshal([]byte(c.params[name]), v) != nil {
		return badRequest("can't parse %s JSON object", strings.ReplaceAll(name, "_", " "))
	}
	return nil
}

// read parses the parameters of a request.
func (c *call) read(body []byte) *Error {
	c.params, c.files = map[string]string{}, map[string]upload{}
	c.addForm(c.r.URL.Query())
	if len(bytes.TrimSpace(body)) == 0 { // also of a form: clients send none for a method without parameters
		return nil
	}
	kind, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return c.readJSON(body)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return badRequest("can't parse the form")
		}
		c.addForm(form)
	case "multipart/form-data":
		return c.readMultipart(body, params["boundary"])
	}
	return nil
}

func (c *call) addForm(form url.Values) {
	for name, values := range form {
		c.params[name] = values[0]
	}
}

func (c *call) readJSON(body []byte) *Error {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return badRequest("can't parse JSON object")
	}
	for name, raw := range object {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			c.params[name] = text
		default:
			c.params[name] = string(raw)
		}
	}
	return nil
}

func (c *call) readMultipart(body []byte, boundary string) *Error {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return badRequest("can't parse the form")
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return badRequest("can't parse the form")
		}
		if part.FileName() == "" {
			c.params[part.FormName()] = string(content)
			continue
		}
		c.files[part.FormName()] = upload{name: part.FileName(), kind: part.Header.Get("Content-Type"), content: content}
	}
}
