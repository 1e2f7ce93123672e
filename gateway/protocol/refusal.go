package protocol

import "time"

// AuthReason is why credentials were rejected.
type AuthReason string

// Reasons for rejecting credentials.
const (
	TokenMissing          AuthReason = "token_missing"
	TokenMismatch         AuthReason = "token_mismatch"
	TokenNotConfigured    AuthReason = "token_missing_config"
	PasswordMissing       AuthReason = "password_missing"
	PasswordMismatch      AuthReason = "password_mismatch"
	PasswordNotConfigured AuthReason = "password_missing_config"
	DeviceTokenMismatch   AuthReason = "device_token_mismatch"
	ScopeMismatch         AuthReason = "scope_mismatch" // the device token is valid, but for fewer scopes
	RateLimited           AuthReason = "rate_limited"
)

type refusal struct {
	Code       string     `json:"code"`
	AuthReason AuthReason `json:"authReason,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	RequestID  string     `json:"requestId,omitempty"`

	CanRetryWithDeviceToken *bool  `json:"canRetryWithDeviceToken,omitempty"`
	RecommendedNextStep     string `json:"recommendedNextStep,omitempty"`
}

// Unauthorized refuses a client. The hint tells its user where to set the secret. retryAfter is for RateLimited.
func Unauthorized(reason AuthReason, c *Connect, retryAfter time.Duration) *Error {
	message, code, step := "unauthorized", "AUTH_UNAUTHORIZED", "review_auth_configuration"
	switch reason {
	case TokenMissing:
		message, code, step = "unauthorized: gateway token missing ("+tokenHint(c)+")", "AUTH_TOKEN_MISSING", "update_auth_configuration"
	case TokenMismatch:
		message, code, step = "unauthorized: gateway token mismatch ("+tokenHint(c)+")", "AUTH_TOKEN_MISMATCH", "update_auth_credentials"
	case TokenNotConfigured:
		message, code = "unauthorized: gateway token not configured on gateway (set gateway.auth.token)", "AUTH_TOKEN_NOT_CONFIGURED"
	case PasswordMissing:
		message, code, step = "unauthorized: gateway password missing ("+passwordHint(c)+")", "AUTH_PASSWORD_MISSING", "update_auth_configuration"
	case PasswordMismatch:
		message, code, step = "unauthorized: gateway password mismatch ("+passwordHint(c)+")", "AUTH_PASSWORD_MISMATCH", "update_auth_credentials"
	case PasswordNotConfigured:
		message, code = "unauthorized: gateway password not configured on gateway (set gateway.auth.password)", "AUTH_PASSWORD_NOT_CONFIGURED"
	case DeviceTokenMismatch:
		message, code = "unauthorized: device token mismatch (rotate/reissue device token)", "AUTH_DEVICE_TOKEN_MISMATCH"
		step = "update_auth_credentials"
	case ScopeMismatch:
		message = "unauthorized: device token is for fewer scopes (connect with the gateway's token or password once)"
		code, step = "AUTH_SCOPE_MISMATCH", "update_auth_credentials"
	case RateLimited:
		message, code, step = "unauthorized: too many failed authentication attempts (retry later)", "AUTH_RATE_LIMITED", "wait_then_retry"
	}
	details := refusal{Code: code, AuthReason: reason}
	if c.Protocol() >= SinceAdvice {
		details.CanRetryWithDeviceToken, details.RecommendedNextStep = new(bool), step
	}
	e := &Error{Code: CodeInvalidRequest, Message: message, Details: details}
	if reason == RateLimited {
		e.Retryable, e.RetryAfter = true, max(retryAfter.Milliseconds(), 1)
	}
	return e
}

func tokenHint(c *Connect) string {
	switch {
	case c.Client.IsCommandLine() && c.Protocol() >= SinceAdvice:
		return "use this gateway's gateway.auth.token or pair the device"
	case c.Client.IsCommandLine():
		return "set gateway.remote.token to match gateway.auth.token"
	case c.Client.IsControlUI(), c.Client.IsWebchat():
		return "open the dashboard URL and paste the token in Control UI settings"
	default:
		return "provide gateway auth token"
	}
}

func passwordHint(c *Connect) string {
	switch {
	case c.Client.IsCommandLine():
		return "set gateway.remote.password to match gateway.auth.password"
	case c.Client.IsControlUI(), c.Client.IsWebchat():
		return "enter the password in Control UI settings"
	default:
		return "provide gateway auth password"
	}
}

// OriginRefused refuses a page from another origin.
func OriginRefused() *Error {
	return &Error{
		Code:    CodeInvalidRequest,
		Message: "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)",
		Details: refusal{Code: "CONTROL_UI_ORIGIN_NOT_ALLOWED"},
	}
}

// DeviceRequired refuses a client without secret and device, or a node without device.
func DeviceRequired() *Error {
	return &Error{Code: CodeNotPaired, Message: "device identity required", Details: refusal{Code: "DEVICE_IDENTITY_REQUIRED"}}
}

// ControlUIDeviceRequired refuses a Control UI without device. Browsers create one only in secure contexts.
func ControlUIDeviceRequired() *Error {
	return &Error{
		Code:    CodeInvalidRequest,
		Message: "control ui requires device identity (use HTTPS or localhost secure context)",
		Details: refusal{Code: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED"},
	}
}
