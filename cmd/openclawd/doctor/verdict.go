package doctor

import (
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
)

// Verdict is an error if one was found; that of a setting if all are of the configuration.
func Verdict(findings []Finding, configFile string) error {
	var all, configured int64
	for _, f := range findings {
		if f.Severity == severityError {
			all++
			if strings.HasPrefix(f.Code, configPrefix) {
				configured++
			}
		}
	}
	unwell := &unwellError{all}
	switch {
	case all == 0:
		return nil
	case all == configured:
		return &settings.Error{Setting: "configuration", Value: configFile, Err: unwell, Mend: unwell.Hint()}
	}
	return unwell
}

// unwellError says that the doctor has found errors.
type unwellError struct{ errors int64 }

func (e *unwellError) Error() string {
	return "the doctor has found " + output.Count(e.errors, "error")
}
func (e *unwellError) Code() string { return "unwell" }
func (e *unwellError) Hint() string { return "mend what is listed, and look again" }
