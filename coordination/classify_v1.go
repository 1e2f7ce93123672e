package coordination

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// keywordTable is the reference's: one row per category, keywords in the order in which they become sub-tags.
var keywordTable = [categoryCount]string{
	"implement|implementation|build|feature|refactor|bugfix|fix|코드|구현|개발|리팩토링|버그",
	"deploy|deployment|infra|infrastructure|docker|k8s|ops|incident|운영|인프라|배포|장애|서버",
	"test|testing|qa|validation|verify|e2e|회귀|검증|테스트|품질",
	"plan|planning|decision|design|architecture|scope|우선순위|설계|기획|의사결정|정책",
	"research|analysis|investigate|compare|benchmark|root cause|분석|조사|리서치|원인|비교",
	"doc|docs|documentation|guide|readme|wiki|문서|가이드|정리|기록",
	"campaign|marketing|growth|experiment|copy|funnel|마케팅|성장|캠페인|전환",
	"customer|community|support|ticket|feedback|cs|고객|커뮤니티|문의|피드백",
	"legal|compliance|policy|terms|regulation|contract|법무|컴플라이언스|약관|규정|계약",
	"kpi|revenue|strategy|business|roadmap|roi|비즈니스|전략|지표|매출",
}

// keywords are the words of the table, in order, with their score for the category, built on first use.
var keywords = sync.OnceValue(newKeywordList)

type keywordList struct {
	texts  []string
	rows   []int
	points []int16
	match  *matcher
}

func newKeywordList() *keywordList {
	l := &keywordList{}
	for row, line := range keywordTable {
		for text := range strings.SplitSeq(line, "|") {
			points := int16(1)
			if utf8.RuneCountInString(text) > 4 {
				points = 2
			}
			l.texts, l.rows, l.points = append(l.texts, text), append(l.rows, row), append(l.points, points)
		}
	}
	l.match = newMatcher(l.texts, func(b byte) byte { return b })
	return l
}

// scanKeywords finds keywords anywhere, also inside other words, in the type, the free texts and two of the ids.
func scanKeywords(r *Record) Scan {
	var s Scan
	list := keywords()
	for _, text := range [...]string{
		r.Type, r.Label, r.Message, r.ReplyPreview, r.Description, r.Summary, r.Reason, r.Title, r.TaskID, r.WorkSessionID, r.CollabIntent,
	} {
		list.find(lowerLikeECMA(text), &s.hits)
	}
	s.hits.each(func(term int) bool {
		s.scores[list.rows[term]] += list.points[term]
		return true
	})
	return s
}

func (l *keywordList) find(text string, hits *termSet) {
	m, state := l.match, 0
	for i := range len(text) {
		state = int(m.next[state*m.columns+int(m.class[text[i]])])
		if accept := m.accept[state]; accept != 0 {
			for _, term := range m.ends[accept] {
				hits.add(int(term))
			}
		}
	}
}

// lowerLikeECMA lowers the two letters outside ASCII whose lower case is ASCII, so that keywords can be matched by ASCII case alone.
func lowerLikeECMA(text string) string {
	const kelvinSign, dottedI = "\u212A", "\u0130"
	if strings.Contains(text, kelvinSign) {
		text = strings.ReplaceAll(text, kelvinSign, "k")
	}
	if strings.Contains(text, dottedI) {
		text = strings.ReplaceAll(text, dottedI, "i\u0307")
	}
	return text
}

// keywordTags are the first keywords found of the table's row.
func (s *Scan) keywordTags(row int) []string {
	tags, list := make([]string, 0, tagsPerEvent), keywords()
	s.hits.each(func(term int) bool {
		if list.rows[term] == row {
			tags = append(tags, list.texts[term])
		}
		return len(tags) < tagsPerEvent
	})
	return tags
}
