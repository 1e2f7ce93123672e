package config

import (
	"slices"
	"unicode/utf8"
)

// nearEnough is the maximum number of typing errors for suggesting a known key.
const nearEnough = 2

func nearest(key string, known []string) string {
	best, slips := "", nearEnough+1
	for _, k := range known {
		d := distance(key, k, nearEnough)
		if d > nearEnough || d >= utf8.RuneCountInString(k) || d >= utf8.RuneCountInString(key) {
			continue
		}
		if d < slips || d == slips && k < best {
			best, slips = k, d
		}
	}
	return best
}

// distance is the restricted Damerau-Levenshtein distance of two words (optimal string alignment), at most limit+1.
func distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	a, b = clip(a), clip(b)
	if m, n := utf8.RuneCountInString(a), utf8.RuneCountInString(b); max(m-n, n-m) > limit {
		return limit + 1
	}
	x, y := []rune(a), []rune(b)
	rows := make([]int, 3*(len(y)+1))
	beforeLast, last, row := rows[:len(y)+1], rows[len(y)+1:2*(len(y)+1)], rows[2*(len(y)+1):]
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			change := last[j]
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], beforeLast[j-1]+1)
			}
		}
		if slices.Min(row) > limit {
			return limit + 1
		}
		beforeLast, last, row = last, row, beforeLast
	}
	return last[len(y)]
}
