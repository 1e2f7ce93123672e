package discordtest

import (
	"fmt"
	"net/http"
)

// Discord's error codes.
const (
	CodeUnknownApplication = 10002
	CodeUnknownChannel     = 10003
	CodeUnknownGuild       = 10004
	CodeUnknownMember      = 10007
	CodeUnknownMessage     = 10008
	CodeUnknownUser        = 10013
	CodeUnknownEmoji       = 10014
	CodeUnknownWebhook     = 10015
	CodeUnknownInteraction = 10062
	CodeUnknownCommand     = 10063
	CodeChannelRateLimit   = 20028
	CodeAlreadyAnswered    = 40060
	CodeMissingAccess      = 50001
	CodeWrongChannelType   = 50024
	CodeNotYourMessage     = 50005
	CodeEmptyMessage       = 50006
	CodeCannotMessageUser  = 50007
	CodeMissingPermissions = 50013
	CodeSystemMessage      = 50021
	CodeWebhookToken       = 50027
	CodeInvalidForm        = 50035
	CodeThreadArchived     = 50083
	CodeInvalidBody        = 50109
	CodeThreadExists       = 160004
	CodeThreadLocked       = 160005
)

// Error is a refusal in Discord's format.
type Error struct {
	Status  int       `json:"-"`
	Message string    `json:"message"`
	Code    int       `json:"code"`
	Fields  FormError `json:"errors,omitempty"`
}

// FormError lists the fields of an invalid form.
type FormError map[string]FieldError

// FieldError lists the errors of one field.
type FieldError struct {
	Errors []FieldReason `json:"_errors"`
}

// FieldReason is one error of a field.
type FieldReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("discord refuses with %d, code %d: %s", e.Status, e.Code, e.Message)
}

func notFound(code int, what string) *Error {
	return &Error{Status: http.StatusNotFound, Code: code, Message: "Unknown " + what}
}

func forbidden(code int, message string) *Error {
	return &Error{Status: http.StatusForbidden, Code: code, Message: message}
}

func badRequest(code int, message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: message}
}

func missingAccess() *Error { return forbidden(CodeMissingAccess, "Missing Access") }

func missingPermissions() *Error { return forbidden(CodeMissingPermissions, "Missing Permissions") }

func unauthorized() *Error {
	return &Error{Status: http.StatusUnauthorized, Message: "401: Unauthorized"}
}

func invalidForm(field, code, message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeInvalidForm, Message: "Invalid Form Body",
		Fields: FormError{field: {[]FieldReason{{code, message}}}}}
}

func tooLong(field string, limit int) *Error {
	return invalidForm(field, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", limit))
}

func badLength(field string, from, to int) *Error {
	return invalidForm(field, "BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", from, to))
}

func badChoice(field, choices string) *Error {
	return invalidForm(field, "BASE_TYPE_CHOICES", "Value must be one of {"+choices+"}.")
}
