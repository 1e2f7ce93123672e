import './base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { router } from '$lib/router.svelte';
import { preferences } from '$lib/preferences.svelte';
import { theme } from '$lib/theme.svelte';

theme.start();
preferences.start();
router.start();
mount(App, { target: document.getElementById('app')! });
