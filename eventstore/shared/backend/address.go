package backend

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres"
)

// Kinds of shared logs.
const (
	JetStream = "jetstream"
	Postgres  = "postgres"
)

// Address says where a shared log is. Its String has no password.
type Address struct {
	Kind string // JetStream or Postgres
	Name string // of the stream, or of the schema

	shown          string
	servers        []string // of JetStream
	user, password string   // likewise
	replicas       int
	options        url.Values
	url            string // of Postgres
}

// String returns the URL without user, password and parameters.
func (a *Address) String() string { return a.shown }

// DefaultName is the schema of a log in Postgres whose URL has none.
const DefaultName = "openclawd"

const forms = "give nats://HOST:4222/STREAM or postgres://USER@HOST/DATABASE"

// Parse reads the URL of a shared log:
//
//	nats://[user:password@]host[:port][,host...]/stream[?replicas=3&creds=FILE&ca=FILE&cert=FILE&key=FILE&monitor=URL]
//	tls://...
//	postgres://[user[:password]@]host[:port][,host...]/database[?schema=name&...]
//
// field is the setting that has it. The error is an *eventstore.InvalidError without the password.
func Parse(field, text string) (*Address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return nil, &eventstore.InvalidError{Field: field, Value: hide(text), HintText: forms}
	}
	switch scheme {
	case "nats", "tls":
		return parseNATS(field, text, scheme, rest)
	case "postgres", "postgresql":
		return parsePostgres(field, text)
	}
	return nil, &eventstore.InvalidError{Field: field, Value: hide(text), HintText: forms}
}

// hide returns a URL without what may be a secret, whatever is wrong with it.
func hide(text string) string {
	at := strings.LastIndex(text, "@") // a password may have any of the characters that end it
	shown, _, _ := strings.Cut(text[at+1:], "?")
	if at < 0 {
		return shown
	}
	scheme, _, found := strings.Cut(text[:at], "://")
	if !found {
		return shown
	}
	return scheme + "://" + shown
}

// streams are names that are also those of subjects.
var streams = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func parseNATS(field, text, scheme, rest string) (*Address, error) {
	bad := func(hint string) error {
		return &eventstore.InvalidError{Field: field, Value: hide(text), HintText: hint}
	}
	rest, query, _ := strings.Cut(rest, "?")
	credentials := strings.LastIndex(rest, "@") + 1
	slash := strings.Index(rest[credentials:], "/")
	if slash < 0 || !streams.MatchString(rest[credentials+slash+1:]) {
		return nil, bad("end it with the name of the stream, 1 to 64 letters, digits, - and _: nats://HOST:4222/openclawd")
	}
	a := &Address{Kind: JetStream, Name: rest[credentials+slash+1:]}
	var users string
	for host := range strings.SplitSeq(rest[:credentials+slash], ",") {
		if at := strings.LastIndex(host, "@"); at >= 0 {
			if users != "" && users != host[:at] {
				return nil, bad("give one user for all servers, before the first")
			}
			users, host = host[:at], host[at+1:]
		}
		server, ok := hostPort(host)
		if !ok {
			return nil, bad("give servers as HOST:PORT, with commas between them; in a password write other characters than letters and digits as %XX")
		}
		a.servers = append(a.servers, scheme+"://"+server)
	}
	a.shown = strings.Join(a.servers, ",") + "/" + a.Name
	user, password, _ := strings.Cut(users, ":")
	var userErr, passwordErr, queryErr error
	a.user, userErr = url.PathUnescape(user)
	a.password, passwordErr = url.PathUnescape(password)
	a.options, queryErr = url.ParseQuery(query)
	if userErr != nil || passwordErr != nil || queryErr != nil {
		return nil, bad("write %, and other characters than letters and digits, as %XX in user, password and parameters")
	}
	return a, a.checkOptions(field)
}

// hostPort completes the address of a server.
func hostPort(host string) (string, bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "4222"
		if strings.Contains(name, ":") && !strings.HasPrefix(host, "[") {
			return "", false
		}
	}
	n, err := strconv.Atoi(port)
	return net.JoinHostPort(name, port), err == nil && n > 0 && n < 1<<16 && name != "" && !strings.ContainsAny(name, " /@\"")
}

// parameters of a NATS URL.
var parameters = []string{"ca", "cert", "creds", "key", "monitor", "replicas"}

func (a *Address) checkOptions(field string) error {
	for name := range a.options {
		if !slices.Contains(parameters, name) {
			return &eventstore.InvalidError{Field: field, Value: "?" + name, HintText: "parameters are " + strings.Join(parameters, ", ")}
		}
	}
	if a.options.Has("cert") != a.options.Has("key") {
		return &eventstore.InvalidError{Field: field, Value: a.shown, HintText: "give cert and key together"}
	}
	a.replicas = min(len(a.servers), 3)
	if text := a.options.Get("replicas"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 5 {
			return &eventstore.InvalidError{Field: field, Value: "replicas=" + text, HintText: "give 1, 3 or 5"}
		}
		a.replicas = n
	}
	for _, monitor := range a.monitors() {
		u, err := url.Parse(monitor)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return &eventstore.InvalidError{Field: field, Value: "monitor=...", HintText: "give monitor=http://HOST:8222, with commas between several"}
		}
	}
	return nil
}

// monitors are the addresses at which servers tell how they are configured.
func (a *Address) monitors() []string {
	text := a.options.Get("monitor")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// parsePostgres takes the schema out of the URL, which pgx would send to the server, and reads nothing else of it.
func parsePostgres(field, text string) (*Address, error) {
	a := &Address{Kind: Postgres, Name: DefaultName, url: text, shown: hide(text)}
	base, query, _ := strings.Cut(text, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil, &eventstore.InvalidError{Field: field, Value: a.shown, HintText: "write %, and other characters than letters and digits, as %XX in parameters"}
	}
	if options.Has("schema") {
		a.Name = options.Get("schema")
		options.Del("schema")
	}
	if !postgres.IsName(a.Name) {
		return nil, &eventstore.InvalidError{Field: field, Value: "schema=" + a.Name, HintText: "use 1 to 49 lower case letters, digits and _, a letter first"}
	}
	if strings.Contains(base, ",") && !options.Has("target_session_attrs") {
		options.Set("target_session_attrs", "read-write") // whichever of them is the primary now
	}
	if len(options) > 0 {
		base += "?" + options.Encode()
	}
	a.url = base
	if err := postgres.CheckURL(a.url); err != nil {
		return nil, &eventstore.InvalidError{Field: field, Value: a.shown, HintText: fmt.Sprint(err)}
	}
	a.shown += " schema " + a.Name
	return a, nil
}
