package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// values are measured values by name, one per round or more.
type values map[string][]float64

func (v values) add(name string, value float64) { v[name] = append(v[name], value) }

func (v values) mid(name string) float64 { return median(v[name]) }

// pair returns a value and its baseline from the round whose ratio is the median one: other load on the machine
// affects both values of a round.
func (v values) pair(name, baseline string) (value, base float64) {
	order := make([]int, len(v[name]))
	for i := range order {
		order[i] = i
	}
	ratio := func(i int) float64 { return v[name][i] / v[baseline][i] }
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(ratio(x), ratio(y)) })
	mid := order[len(order)/2]
	return v[name][mid], v[baseline][mid]
}

// byTurns adds the times of two calls in ms, n of each, one after the other.
func (v values) byTurns(n int, one string, call func() error, other string, beside func() error) error {
	for range n {
		first, err := seconds(call)
		if err != nil {
			return err
		}
		second, err := seconds(beside)
		if err != nil {
			return err
		}
		v.add(one, first*1000)
		v.add(other, second*1000)
	}
	return nil
}

func (v values) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, fmt.Sprintf("%s %.4g", name, v.mid(name)))
	}
	return strings.Join(parts, ", ")
}

func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile returns the quantile q of a list, nearest rank; 0 for an empty list.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func seconds(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
