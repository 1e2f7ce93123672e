package telegramtest

import (
	"fmt"
	"net/http"
	"time"
)

// Error is a refusal in Telegram's format.
type Error struct {
	OK          bool        `json:"ok"` // always false
	Code        int         `json:"error_code"`
	Description string      `json:"description"`
	Parameters  *Parameters `json:"parameters,omitempty"`
}

// Parameters say how a refused request could succeed.
type Parameters struct {
	MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
	RetryAfter      int   `json:"retry_after,omitempty"` // seconds
}

func (e *Error) Error() string {
	return fmt.Sprintf("telegram refuses with %d: %s", e.Code, e.Description)
}

func badRequest(format string, args ...any) *Error {
	return &Error{Code: http.StatusBadRequest, Description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

func forbidden(why string) *Error {
	return &Error{Code: http.StatusForbidden, Description: "Forbidden: " + why}
}

func conflict(why string) *Error {
	return &Error{Code: http.StatusConflict, Description: "Conflict: " + why}
}

func unauthorized() *Error {
	return &Error{Code: http.StatusUnauthorized, Description: "Unauthorized"}
}

func chatNotFound() *Error { return badRequest("chat not found") }

func tooManyRequests(after time.Duration) *Error {
	seconds := int((after + time.Second - 1) / time.Second)
	return &Error{Code: http.StatusTooManyRequests, Description: fmt.Sprintf("Too Many Requests: retry after %d", seconds),
		Parameters: &Parameters{RetryAfter: seconds}}
}
