package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/search"
)

// Sizes of the search benchmark.
const (
	searchedEvents = 100_000
	searchRequests = 400 // per round
)

// searches are typical searches of the corpus: rare and frequent words, in Korean and in English, parts of ids,
// several words, with and without filters.
var searches = []string{
	"q=결제", "q=리뷰", "q=배포 파이프라인", "q=실패", "q=회귀 테스트", "q=약관 법무", "q=\"설계안 두 가지\"", "q=고객 문의",
	"q=원인 분석 결과", "q=우선순위", "q=빌드", "q=표로", "q=deploy", "q=rollout", "q=bench", "q=session store", "q=thanks", "q=search API",
	"q=community feedback", "q=nothing-like-this", "q=설", "q=s", "q=확인했습니다", "q=확인 -결제", "q=task_1f", "q=explorer", "q=a2a.spawn",
	"q=배포&role=conversation.main", "q=결제&type=a2a.response&agent=eden", "q=문서&viewCategory=docs_knowledge", "q=버그&limit=20&offset=200",
	"q=조사&agent=ruda,seum", "q=서버 로그&type=a2a.send", "q=인프라 알림&role=conversation.main&limit=100", "q=benchmark&role=orchestration.task", "q=a2a",
}

func runSearch(ctx context.Context, b *bench) error {
	events := min(b.Events, searchedEvents)
	h, err := b.filled(ctx, events)
	if err != nil {
		return err
	}
	return b.rounds(ctx, func(ctx context.Context, round int, v values) error {
		file := database.SearchFile(h.db())
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		rate, err := feed(ctx, h, file)
		if err != nil {
			return err
		}
		v.add("fed", rate)
		return b.serving(ctx, h, func(s *server) error {
			if err := s.fed(ctx, int64(events)); err != nil {
				return err
			}
			times, err := s.search("/api/events/search", uint64(round))
			if err != nil {
				return err
			}
			sessions, err := s.search("/api/work-sessions/search", uint64(round))
			v.add("p50", median(times))
			v.add("p95", quantile(times, 0.95))
			v.add("longest", quantile(times, 1))
			v.add("sessions p95", quantile(sessions, 0.95))
			return err
		}, following)
	}, func(v values) []figure {
		size := fmt.Sprintf("%d events of %d bytes; ", events, dataBytes)
		note := size + fmt.Sprintf("%d requests a round over HTTP, %d different questions, hits counted up to 10,000; %s", searchRequests, len(searches), b.medians())
		return []figure{
			within("search.p95", v.mid("p95"), "ms", 18, fmt.Sprintf("median %.1f ms, longest %.1f ms; %s", v.mid("p50"), v.mid("longest"), note)),
			within("search.sessions.p95", v.mid("sessions p95"), "ms", 45, "the same questions for work sessions; "+note),
			reaches("search.feed", v.mid("fed"), "events/s", 12_000, "into an empty search file, with nothing else to do; "+size+b.medians()),
		}
	})
}

// feed builds the search file of a home's log, and returns the events per second.
func feed(ctx context.Context, h home, path string) (rate float64, err error) {
	err = h.with(ctx, func(log *sqlite.DB, _ *projections.Engine) (err error) {
		file, err := sqlite.OpenSide(ctx, path, false)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		index, err := search.Open(ctx, search.Options{Log: log, File: file, Rules: coordination.RulesV2})
		if err != nil {
			return err
		}
		head, err := log.Head(ctx)
		if err != nil {
			return err
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		took, err := seconds(func() error {
			go func() { ended <- index.Run(running) }()
			return index.Wait(ctx, head.Seq)
		})
		stop()
		rate = float64(head.Seq) / took
		return errors.Join(err, <-ended)
	})
	return rate, err
}

// search sends searches in random order and returns the times of the answers in ms.
func (s *server) search(path string, seed uint64) (times []float64, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range searchRequests {
		question, err := url.ParseQuery(searches[r.IntN(len(searches))])
		if err != nil {
			return nil, err
		}
		_, ms, err := s.get(path + "?" + question.Encode())
		if err != nil {
			return nil, err
		}
		times = append(times, ms)
	}
	return times, nil
}
