package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
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

func runSearch(ctx context.Context, b *bench) ([]figure, error) {
	sized := *b
	sized.Events = min(b.Events, searchedEvents)
	log, err := sized.buildLog(ctx, "search", sized.Events)
	if err != nil {
		return nil, err
	}
	var rates []float64
	for round := range b.Rounds {
		rate, err := sized.feed(ctx, log.db, round == b.Rounds-1)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
		b.logf("search round %d: fed %.0f events/s", round+1, rate)
	}
	var p95s, medians, sessionP95s, worst []float64
	for round := range b.Rounds {
		s, err := b.startServer(ctx, log.db)
		if err != nil {
			return nil, err
		}
		if _, _, err := s.get(fmt.Sprintf("/api/events/search?q=x&min_seq=%d", sized.Events)); err != nil {
			return nil, err
		}
		times, err := s.search("/api/events/search", uint64(round))
		if err != nil {
			return nil, err
		}
		sessions, err := s.search("/api/work-sessions/search", uint64(round))
		if err != nil {
			return nil, err
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
		p95s, medians = append(p95s, quantile(times, 0.95)), append(medians, median(times))
		worst, sessionP95s = append(worst, quantile(times, 1)), append(sessionP95s, quantile(sessions, 0.95))
		b.logf("search round %d: p95 %.1f ms, work sessions %.1f ms", round+1, p95s[round], sessionP95s[round])
	}
	note := fmt.Sprintf("%d events of %d bytes; %d requests a round over HTTP, %d different questions, hits counted up to 10,000; median of %d rounds",
		sized.Events, dataBytes, searchRequests, len(searches), b.Rounds)
	return []figure{
		within("search.p95", median(p95s), "ms", 20, fmt.Sprintf("median %.1f ms, longest %.1f ms; %s", median(medians), median(worst), note)),
		within("search.sessions.p95", median(sessionP95s), "ms", 80, "the same questions for work sessions; "+note),
		atLeast("search.feed", median(rates), "events/s", 1, 5_000, "into an empty search file, with nothing else to do; "+
			fmt.Sprintf("%d events of %d bytes, median of %d rounds", sized.Events, dataBytes, b.Rounds)),
	}, nil
}

// feed builds the search file of a log, and returns the events per second. keep leaves it where a server looks for it.
func (b *bench) feed(ctx context.Context, path string, keep bool) (rate float64, err error) {
	db, _, err := openLog(ctx, path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	target := db.Path() + "-search.db"
	if !keep {
		target = filepath.Join(b.Dir, "search-scratch.db")
	}
	file, err := sqlite.OpenSide(ctx, target, false)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	index, err := search.Open(ctx, search.Options{Log: db, File: file, Rules: coordination.RulesV2})
	if err != nil {
		return 0, err
	}
	head, err := db.Head(ctx)
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- index.Run(running) }()
	err = index.Wait(ctx, head.Seq)
	took := time.Since(start)
	stop()
	if runErr := <-ended; err == nil {
		err = runErr
	}
	if err == nil && !keep {
		err = file.Reset(ctx, func(*sql.Tx) error { return nil }) // the next round begins with an empty one
	}
	return float64(head.Seq) / took.Seconds(), err
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
