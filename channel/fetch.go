package channel

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// ErrForeignFile is the error of a file that does not lie on the service's own host.
var ErrForeignFile = errors.New("the file does not lie with the service")

// ErrFileTooLarge is the error of a file that the service gives no bot, for its size.
var ErrFileTooLarge = errors.New("the service gives bots no file of this size")

// Download makes a request for a file and writes the answer. Redirects are not followed. A failure has the class that its status has
// for any other request; an error of w is returned as it is. No error names the address, which may hold a secret.
func Download(transport http.RoundTripper, r *http.Request, deed, account string, w io.Writer) error {
	fail := func(f collaborate.Failure, err error) error {
		return &Error{Deed: deed, AccountID: account, Failure: f, Class: collaborate.Classify(f), Err: err}
	}
	response, err := transport.RoundTrip(r) // which follows no redirect
	if err != nil {
		return fail(collaborate.Failure{Unsent: true}, errors.New("the file's host does not answer"))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		status := response.StatusCode
		switch {
		case status == http.StatusGone:
			status = http.StatusNotFound
		case status < http.StatusBadRequest: // a redirect: to another host, or to a page for people
			status = http.StatusForbidden
		}
		return fail(collaborate.Failure{Status: status, RetryAfter: pause(response)}, fmt.Errorf("the file's host answers %d", response.StatusCode))
	}
	into := &noting{to: w}
	if _, err = io.Copy(into, response.Body); into.err != nil {
		return into.err
	}
	if err != nil {
		return fail(collaborate.Failure{Unsent: true}, errors.New("the connection to the file's host has ended in the middle of the file"))
	}
	return nil
}

// pause is the delay that a host asks for, at most an hour.
func pause(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || response.StatusCode != http.StatusTooManyRequests {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}

// noting remembers why a writer has failed.
type noting struct {
	to  io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	wrote, err := n.to.Write(p)
	if err != nil {
		n.err = err
	}
	return wrote, err
}
