package protocol

import "time"

// AuthReason is why what a client has shown does not let it in.
type AuthReason string

// Reasons why a client is not let in.
const (
	TokenMissing          AuthReason = "token_missing"
	TokenMismatch         AuthReason = "token_mismatch"
	TokenNotConfigured    AuthReason = "token_missing_config"
	PasswordMissing       AuthReason = "password_missing"
	PasswordMismatch      AuthReason = "password_mismatch"
	PasswordNotConfigured AuthReason = "password_missing_config"
	DeviceTokenMismatch   AuthReason = "device_token_mismatch"
	ScopeMismatch         AuthReason = "scope_mismatch" // a device token is good, for fewer scopes
	RateLimited           AuthReason = "rate_limited"
)

// refusal is what the details of an error say of somebody who is not let in.
type refusal struct {
	Code       string     `json:"code"`
	AuthReason AuthReason `json:"authReason,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	RequestID  string     `json:"requestId,omitempty"`

	CanRetryWithDeviceToken *bool  `json:"canRetryWithDeviceToken,omitempty"`
	RecommendedNextStep     string `json:"recommendedNextStep,omitempty"`
}

// Unauthorized refuses a client. The hint is for the one who sits at it: where its own secret is set. retryAfter is for RateLimited.
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

// OriginRefused refuses a page of another machine.
func OriginRefused() *Error {
	return &Error{
		Code:    CodeInvalidRequest,
		Message: "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)",
		Details: refusal{Code: "CONTROL_UI_ORIGIN_NOT_ALLOWED"},
	}
}

// DeviceRequired refuses a client that shows neither secret nor device, or a node without device.
func DeviceRequired() *Error {
	return &Error{Code: CodeNotPaired, Message: "device identity required", Details: refusal{Code: "DEVICE_IDENTITY_REQUIRED"}}
}

// ControlUIDeviceRequired refuses a Control UI without device. Browsers make one only for pages that are safe from others.
func ControlUIDeviceRequired() *Error {
	return &Error{
		Code:    CodeInvalidRequest,
		Message: "control ui requires device identity (use HTTPS or localhost secure context)",
		Details: refusal{Code: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED"},
	}
}

// PairingReason is why a device has to be approved.
type PairingReason string

// Reasons why a device has to be approved.
const (
	NotPaired       PairingReason = "not-paired"
	RoleUpgrade     PairingReason = "role-upgrade"
	ScopeUpgrade    PairingReason = "scope-upgrade"
	MetadataUpgrade PairingReason = "metadata-upgrade"
)

// PairingRequired refuses a device until somebody has approved it. requestID is "" where nobody is asked.
func PairingRequired(reason PairingReason, requestID string, c *Connect) *Error {
	message := "pairing required"
	if c.Protocol() >= SinceAdvice {
		switch reason {
		case RoleUpgrade:
			message = "role upgrade pending approval"
		case ScopeUpgrade:
			message = "scope upgrade pending approval"
		case MetadataUpgrade:
			message = "device metadata change pending approval"
		default:
			message = "device pairing required"
		}
	}
	return &Error{Code: CodeNotPaired, Message: message, Details: refusal{Code: "PAIRING_REQUIRED", Reason: string(reason), RequestID: requestID}}
}
