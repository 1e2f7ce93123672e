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

// readBody reads the JSON object that a request brings into a struct. Members that the struct does not have are passed over, as the
// original does; everything else that is not one JSON object in UTF-8 is refused, and a body above maxBodyBytes without reading it all.
func readBody(c echo.Context, into any) error {
	r := c.Request()
	if r.ContentLength > maxBodyBytes {
		return tooLarge()
	}
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case err != nil:
		return invalidBody("", "the body did not arrive as a whole")
	case !utf8.Valid(body):
		return invalidBody("", "send the JSON in UTF-8")
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return invalidBody("", "send one JSON object")
	}
	err = json.Unmarshal(body, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return invalidBody(wrong.Field, fmt.Sprintf("it may not be of type %s", wrong.Value))
	}
	return invalidBody("", fmt.Sprintf("send one JSON object: %v", err))
}

func invalidBody(field, hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "Invalid JSON body", Field: field, Hint: hint}
}

func tooLarge() *problem {
	return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "Request body too large",
		Hint: fmt.Sprintf("send at most %d bytes", maxBodyBytes)}
}
