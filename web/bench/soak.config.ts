import { defineConfig } from '@playwright/test';
import bench from './playwright.config.ts';

/** `make ui-soak`: one page for a long time. What it holds must not grow. */
export default defineConfig({ ...bench, testMatch: '*.soak.ts', outputDir: '../../bin/ui-soak', timeout: 0 });
