package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// refusal says of an error of opening whether it passes by itself.
func refusal(err error) error {
	hint := ""
	api := new(jetstream.APIError)
	switch {
	case errors.As(err, new(*shared.RefusedError)), errors.Is(err, eventstore.ErrNotFound):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		hint = "correct user and password in the URL, or the file that creds names"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		hint = "enable JetStream in the configuration of the servers, for the account of this user"
	case errors.Is(err, fs.ErrNotExist):
		hint = "correct the names of files in the parameters of the URL"
	case errors.Is(err, nats.ErrNoResponders):
		err = fmt.Errorf("no server has JetStream: %w", err)
	case errors.As(err, &api) && api.ErrorCode == replicasWithoutCluster:
		hint = "name one server or give replicas=1, or start the servers as a cluster"
	case errors.As(err, &api):
		hint = "the servers refuse the stream: see their limits of the account"
		if api.ErrorCode == noPeers || api.Code == http.StatusServiceUnavailable {
			hint = ""
		}
	}
	if hint == "" {
		return &shared.UnavailableError{Err: err}
	}
	return &shared.RefusedError{Err: err, HintText: hint}
}

// More codes of the broker.
const (
	replicasWithoutCluster = 10074
	noPeers                = 10005
)

// oldest is the first version with atomic batches that are sound.
var oldest = []int{2, 12, 3}

func checkVersion(version string) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil // nolint:nilerr // not a release
		}
		numbers = append(numbers, n)
	}
	if slices.Compare(numbers, oldest) < 0 {
		return &shared.RefusedError{Err: fmt.Errorf("the NATS server has version %s", version), HintText: "run nats-server 2.12.3 or newer; 2.15 is what is tested"}
	}
	return nil
}

// checkStream refuses a stream that is not a log, or does not keep what it acknowledges.
func checkStream(want, got jetstream.StreamConfig) error {
	if slices.Equal(want.Subjects, got.Subjects) && got.Storage == want.Storage && got.Discard == want.Discard && got.AllowAtomicPublish &&
		got.MaxAge == 0 && got.Retention == jetstream.LimitsPolicy {
		return nil
	}
	return &shared.RefusedError{Err: fmt.Errorf("stream %s exists and is not a log of openclawd", want.Name),
		HintText: "name another stream; one that does not exist is created"}
}

// Synced asks the servers whether what they acknowledge is on their disks: those that monitors name by their monitoring
// addresses, otherwise by the connection, which answers to users of the system account. doubt is why that is not known;
// the error is a *shared.UnsafeError if a server does not sync.
func (l *Log) Synced(ctx context.Context, monitors []string) (doubt string, err error) {
	var told []serverInfo
	for _, monitor := range monitors {
		info, err := askMonitor(ctx, monitor)
		if err != nil {
			return fmt.Sprintf("the monitoring address of a server does not answer: %v", err), nil
		}
		told = append(told, info)
	}
	if len(monitors) == 0 {
		told = l.askServers(ctx)
	}
	for i := range told {
		if !told[i].Config.SyncAlways {
			return "", &shared.UnsafeError{
				Detail:   fmt.Sprintf("NATS server %s has sync_interval %s", told[i].Name, time.Duration(told[i].Config.SyncInterval)),
				HintText: "set jetstream { sync_interval: always } in the configuration of each NATS server, or set cluster.durability to relaxed"}
		}
	}
	if len(told) == 0 {
		return "NATS tells clients nothing of its sync_interval: see that it is always on each server, and let the URL name their monitoring addresses, ?monitor=http://HOST:8222", nil
	}
	return "", nil
}

// serverInfo is what a server tells of its JetStream.
type serverInfo struct {
	Name   string `json:"-"`
	Config struct {
		SyncInterval int64 `json:"sync_interval"`
		SyncAlways   bool  `json:"sync_always"`
	} `json:"config"`
}

// askTime is how long servers have to answer.
const askTime = 2 * time.Second

func askMonitor(ctx context.Context, address string) (info serverInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/jsz?config=true", nil)
	if err != nil {
		return info, errors.New("it is not an address")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return info, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return info, fmt.Errorf("%s answers %s", request.URL.Host, answer.Status)
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 1<<20)).Decode(&info)
	info.Name = request.URL.Host
	return info, err
}

// askServers asks those of the cluster that answer to this user; mostly none.
func (l *Log) askServers(ctx context.Context) (told []serverInfo) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := l.conn.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.JSZ", []byte(`{"config":true}`))
	if err != nil {
		return nil
	}
	var one struct {
		Server struct{ Name string }
		Data   serverInfo `json:"data"`
	}
	if json.Unmarshal(answer.Data, &one) != nil || one.Server.Name == "" {
		return nil
	}
	one.Data.Name = one.Server.Name
	return []serverInfo{one.Data}
}
