// Package config reads the settings of the client.
package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config holds the settings.
type Config struct {
	Address string
	Timeout time.Duration
}

// Default returns the settings of an empty file.
func Default() Config {
	return Config{Address: "localhost:8080", Timeout: 10 * time.Second}
}

// Parse reads lines such as "timeout = 30".
func Parse(text string) (Config, error) {
	config := Default()
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return Config{}, fmt.Errorf("line %d: expected name = value", number+1)
		}
		if err := config.set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return Config{}, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	return config, nil
}

func (c *Config) set(name, value string) error {
	switch name {
	case "address":
		c.Address = value
	case "timeout":
		timeout, err := parseTimeout(value)
		if err != nil {
			return fmt.Errorf("timeout: %w", err)
		}
		c.Timeout = timeout
	default:
		return fmt.Errorf("unknown setting %s", name)
	}
	return nil
}

// parseTimeout reads a number of seconds, or a duration with its unit.
func parseTimeout(value string) (time.Duration, error) {
	if _, err := strconv.Atoi(value); err == nil {
		value += "s"
	}
	timeout, err := time.ParseDuration(value)
	if err != nil {
		return 0, err
	}
	if timeout <= 0 {
		return 0, fmt.Errorf("%s is not positive", value)
	}
	return timeout, nil
}
