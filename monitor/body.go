package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// readBody reads the request's JSON object. The last of duplicate members counts. Anything but one JSON object in
// UTF-8 is refused, and a body above maxBodyBytes is not read to its end.
func readBody(c echo.Context) (members map[string]any, err error) {
	if members, err = readBodyIfAny(c); err == nil && members == nil {
		err = invalidBody("send one JSON object")
	}
	return members, err
}

// readBodyIfAny is readBody for requests that need no body: nil if it is empty.
func readBodyIfAny(c echo.Context) (members map[string]any, err error) {
	return readMembers[any](c)
}

// readMembers is readBodyIfAny for members that are decoded as V, e.g. later.
func readMembers[V any](c echo.Context) (members map[string]V, err error) {
	r := c.Request()
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, invalidBody("the body was cut short")
	case !utf8.Valid(body):
		return nil, invalidBody("send the JSON in UTF-8")
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 {
		return nil, nil
	}
	if body[0] != '{' {
		return nil, invalidBody("send one JSON object")
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, invalidBody(fmt.Sprintf("send one JSON object: %v", err))
	}
	return members, nil
}

func invalidBody(hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "Invalid JSON body", Hint: hint}
}

func tooLarge() *problem {
	return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "Request body too large",
		Hint: fmt.Sprintf("send at most %d bytes", maxBodyBytes)}
}
